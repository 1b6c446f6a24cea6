package identity_test

import (
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/auth/sso/ssotest"
	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// nameServer answers questions for TXT records on loopback.
type nameServer struct {
	mu      sync.Mutex
	records map[string][]string
	silent  bool
}

// startNameServer returns a server without records, and its address.
func startNameServer(t *testing.T) (*nameServer, string) {
	t.Helper()
	s := &nameServer{records: map[string][]string{}}
	conn, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	require.NoError(t, err)
	server := &dns.Server{PacketConn: conn, Handler: dns.HandlerFunc(s.answer)}
	ended := make(chan error, 1)
	go func() { ended <- server.ActivateAndServe() }()
	t.Cleanup(func() {
		_ = conn.Close()
		<-ended //nolint:errcheck // the closed connection
	})
	return s, conn.LocalAddr().String()
}

func (s *nameServer) set(name string, records ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.records[name+"."] = records
}

func (s *nameServer) answer(w dns.ResponseWriter, question *dns.Msg) {
	s.mu.Lock()
	defer s.mu.Unlock()
	reply := new(dns.Msg).SetReply(question)
	reply.RecursionAvailable = true
	records, known := s.records[strings.ToLower(question.Question[0].Name)]
	if !known {
		reply.Rcode = dns.RcodeNameError
	}
	if s.silent {
		reply.Rcode, records = dns.RcodeServerFailure, nil
	}
	for _, text := range records {
		reply.Answer = append(reply.Answer, &dns.TXT{Hdr: dns.RR_Header{Name: question.Question[0].Name, Rrtype: dns.TypeTXT,
			Class: dns.ClassINET}, Txt: []string{text}})
	}
	_ = w.WriteMsg(reply) // a client that timed out is gone
}

func TestDomainsAreVerifiedByDNS(t *testing.T) {
	t.Parallel()
	names, address := startNameServer(t)
	provider := ssotest.New(t)
	s := harness.Start(t, func(c *harness.Settings) { c.DNSServer, c.AllowPrivateEndpoints = address, true })
	body := object{"issuer": provider.Issuer(), "clientId": ssotest.ClientID, "clientSecret": ssotest.ClientSecret,
		"domains": list{"B\u00fccher.example"}, "defaultRole": "viewer"}
	dry := s.Admin.OK("PUT", ssoPath(s), object{"issuer": body["issuer"], "clientId": "x", "clientSecret": "x",
		"domains": list{"acme.example"}, "defaultRole": "viewer", "dry_run": true})
	require.NotContains(t, dry["domains"].(list)[0], "record")
	refused(t, s.Admin, 404, "not_found", "GET", ssoPath(s), nil)
	domain := s.Admin.OK("PUT", ssoPath(s), body)["domains"].(list)[0].(object)
	require.Equal(t, list{"xn--bcher-kva.example", false, nil}, list{domain["domain"], domain["verified"], domain["method"]})
	record := domain["record"].(object)
	verify := ssoPath(s) + "/domains/xn--bcher-kva.example/verify"
	refused(t, s.Admin, 409, "domain_not_verified", "POST", verify, nil)
	names.set(record["name"].(string), "lakewarden-verification=wrong")
	refused(t, s.Admin, 409, "domain_not_verified", "POST", verify, nil)
	names.mu.Lock()
	names.silent = true
	names.mu.Unlock()
	refused(t, s.Admin, 503, "resolver_unavailable", "POST", verify, nil)
	names.mu.Lock()
	names.silent = false
	names.mu.Unlock()
	names.set(record["name"].(string), "v=spf1 -all", "lakewarden-verification=wrong", record["value"].(string))
	done := s.Admin.OK("POST", verify, nil)
	require.Equal(t, list{true, "dns", nil}, list{done["verified"], done["method"], done["failedAt"]})
	require.NotNil(t, done["checkedAt"])
	refused(t, s.Admin, 404, "not_found", "POST", ssoPath(s)+"/domains/acme.example/verify", nil)

	// The organisation now requires single sign-on, and others cannot have the domain.
	store, err := s.OpenCatalog(t.Context())
	require.NoError(t, err)
	found, err := store.VerifiedDomain(t.Context(), "xn--bcher-kva.example")
	require.NoError(t, err)
	require.Equal(t, s.Boot.OrganisationID, string(found.Org))
	require.NoError(t, store.Close())
}
