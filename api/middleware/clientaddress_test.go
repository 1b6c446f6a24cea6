package middleware_test

import (
	"net/http"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/middleware"
)

// proxies are 10.0.0.0/8, one IPv4 address and an IPv6 network.
var proxies = middleware.TrustedProxies{
	netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("192.0.2.9/32"), netip.MustParsePrefix("fd00::/8"),
}

func remote(t *testing.T, trusted middleware.TrustedProxies, peer string, header ...string) (found string) {
	t.Helper()
	r := get(t, "/v1/read")
	r.RemoteAddr = peer
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	w := serve(r, func(w http.ResponseWriter, r *http.Request) {
		found = middleware.Remote(r)
		ok(w, r)
	}, trusted.Handler)
	require.Equal(t, 200, w.Code)
	return found
}

func TestClientAddressBehindProxies(t *testing.T) {
	const xff, fwd = "X-Forwarded-For", "Forwarded"
	for name, c := range map[string]struct {
		peer   string
		header []string
		want   string
	}{
		"no header":               {"10.0.0.1:5", nil, "10.0.0.1"},
		"one hop":                 {"10.0.0.1:5", []string{xff, "203.0.113.7"}, "203.0.113.7"},
		"with a port":             {"10.0.0.1:5", []string{xff, "203.0.113.7:443"}, "203.0.113.7"},
		"trusted hops":            {"10.0.0.1:5", []string{xff, "203.0.113.7, 192.0.2.9, 10.2.3.4"}, "203.0.113.7"},
		"what the client sent":    {"10.0.0.1:5", []string{xff, "198.51.100.1, 203.0.113.7, 10.2.3.4"}, "203.0.113.7"},
		"claimed trusted":         {"10.0.0.1:5", []string{xff, "10.9.9.9, 203.0.113.7"}, "203.0.113.7"},
		"only proxies":            {"10.0.0.1:5", []string{xff, "10.9.9.9, 10.8.8.8"}, "10.9.9.9"},
		"two lines":               {"10.0.0.1:5", []string{xff, "198.51.100.1, 203.0.113.7", xff, "10.2.3.4"}, "203.0.113.7"},
		"no address":              {"10.0.0.1:5", []string{xff, "203.0.113.7, unknown"}, "10.0.0.1"},
		"empty entry":             {"10.0.0.1:5", []string{xff, "203.0.113.7, "}, "10.0.0.1"},
		"empty header":            {"10.0.0.1:5", []string{xff, ""}, "10.0.0.1"},
		"untrusted peer":          {"203.0.113.9:5", []string{xff, "203.0.113.7"}, "203.0.113.9"},
		"an address is not a net": {"192.0.2.8:5", []string{xff, "203.0.113.7"}, "192.0.2.8"},
		"mapped":                  {"[::ffff:10.0.0.1]:5", []string{xff, "::ffff:203.0.113.7"}, "203.0.113.7"},
		"IPv6":                    {"[fd00::1%eth0]:5", []string{xff, "2001:db8::7"}, "2001:db8::7"},
		"IPv6 in brackets":        {"[fd00::1]:5", []string{xff, "[2001:db8::7]"}, "2001:db8::7"},
		"not a network peer":      {"@", []string{xff, "203.0.113.7"}, "@"},

		"forwarded": {"10.0.0.1:5", []string{fwd, "for=203.0.113.7;proto=https"}, "203.0.113.7"},
		"forwarded chain": {"10.0.0.1:5", []string{fwd, `for=198.51.100.1, proto=http;For="203.0.113.7:80", for=10.1.1.1;by=10.0.0.1`},
			"203.0.113.7"},
		"forwarded IPv6":           {"10.0.0.1:5", []string{fwd, `for="[2001:db8::7]:4711"`}, "2001:db8::7"},
		"forwarded hidden":         {"10.0.0.1:5", []string{fwd, "for=203.0.113.7, for=_gazonk"}, "10.0.0.1"},
		"forwarded without for":    {"10.0.0.1:5", []string{fwd, "for=203.0.113.7, proto=https"}, "10.0.0.1"},
		"forwarded open quotation": {"10.0.0.1:5", []string{fwd, `for="198.51.100.1, for=203.0.113.7`}, "203.0.113.7"},
		"forwarded untrusted":      {"203.0.113.9:5", []string{fwd, "for=203.0.113.7"}, "203.0.113.9"},

		"both agree":    {"10.0.0.1:5", []string{xff, "203.0.113.7", fwd, "for=203.0.113.7"}, "203.0.113.7"},
		"both disagree": {"10.0.0.1:5", []string{xff, "203.0.113.7", fwd, "for=198.51.100.1"}, "10.0.0.1"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, remote(t, proxies, c.peer, c.header...))
			if name != "not a network peer" {
				peer := netip.MustParseAddrPort(c.peer).Addr().Unmap().WithZone("").String()
				require.Equal(t, peer, remote(t, nil, c.peer, c.header...), "nobody is trusted by default")
			}
		})
	}
}
