package middleware_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/middleware"
)

// TestMissingProxiesAreLoggedOnce sends requests that name another client through an address that is,
// or is not, a trusted proxy.
func TestMissingProxiesAreLoggedOnce(t *testing.T) {
	for name, c := range map[string]struct {
		trusted   middleware.TrustedProxies
		peers     []string
		forwarded string
		logged    int
	}{
		"private":        {nil, []string{"10.0.0.7:1"}, "192.0.2.1", 1},
		"loopback":       {nil, []string{"[::1]:1"}, "192.0.2.1", 1},
		"trusted":        {middleware.TrustedProxies{netip.MustParsePrefix("10.0.0.0/8")}, []string{"10.0.0.7:1"}, "192.0.2.1", 0},
		"public":         {nil, []string{"198.51.100.7:1"}, "192.0.2.1", 0},
		"not forwarded":  {nil, []string{"10.0.0.7:1"}, "", 0},
		"many addresses": {nil, []string{"10.0.0.7:1", "10.0.0.8:1"}, "192.0.2.1", 0},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			served := 0
			handler := c.trusted.MissingProxies(slog.New(slog.NewTextHandler(&log, nil)))(
				http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served++ }))
			for i := range 100 {
				r := httptest.NewRequest(http.MethodGet, "/", nil)
				r.RemoteAddr = c.peers[i%len(c.peers)]
				if c.forwarded != "" {
					r.Header.Set("X-Forwarded-For", c.forwarded)
				}
				handler.ServeHTTP(httptest.NewRecorder(), r)
			}
			require.Equal(t, 100, served)
			require.Equal(t, c.logged, strings.Count(log.String(), "LAKEWARDEN_TRUSTED_PROXIES"))
		})
	}
}
