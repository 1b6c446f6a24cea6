package sso_test

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/auth/sso"
)

func TestDomainsAreNormalised(t *testing.T) {
	for text, want := range map[string]string{
		"acme.example": "acme.example", "ACME.Example.": "acme.example", "mail.acme.co.uk": "mail.acme.co.uk", "acme.co.uk": "acme.co.uk",
		"bücher.example": "xn--bcher-kva.example", "xn--bcher-kva.example": "xn--bcher-kva.example", "me.github.io": "me.github.io",
	} {
		got, err := sso.NormaliseDomain(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got)
	}
	for _, text := range []string{
		"", ".", "localhost", "com", "co.uk", "github.io", "CO.UK.", "127.0.0.1", "::1", "[::1]", "10.1", "0x7f.1", "a..example", ".example.com",
		"-a.example", "a-.example", "a_b.example", "a b.example", "a.example/x", "a@b.example", "*.example.com", "a.example\x00",
		strings.Repeat("a", 64) + ".example", strings.Repeat("a.", 130) + "example", "xn--\u00fc.example", "аcme.example\u202e", "1.2.3.4",
	} {
		got, err := sso.NormaliseDomain(text)
		require.ErrorIs(t, err, sso.ErrDomain, "%q became %q", text, got)
	}
}

// nameServer answers TXT queries on loopback.
type nameServer struct {
	mu      sync.Mutex
	records map[string][]string
	silent  bool
	code    int
}

func (s *nameServer) set(name string, records ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.records[name+"."] = records
}

// fail makes the server answer with a code, or not at all.
func (s *nameServer) fail(code int, silent bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.code, s.silent = code, silent
}

func startNameServer(t *testing.T) (*nameServer, *net.Resolver) {
	t.Helper()
	s := &nameServer{records: map[string][]string{}}
	conn, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	require.NoError(t, err)
	server := &dns.Server{PacketConn: conn, Handler: dns.HandlerFunc(s.answer)}
	ended := make(chan error, 1)
	go func() { ended <- server.ActivateAndServe() }()
	t.Cleanup(func() {
		_ = server.Shutdown()
		_ = conn.Close()
		require.NoError(t, <-ended)
	})
	return s, sso.NewResolver(conn.LocalAddr().String())
}

func (s *nameServer) answer(w dns.ResponseWriter, question *dns.Msg) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.silent {
		return
	}
	reply := new(dns.Msg).SetReply(question)
	reply.Rcode, reply.RecursionAvailable = s.code, true
	records, known := s.records[strings.ToLower(question.Question[0].Name)]
	if !known && s.code == dns.RcodeSuccess {
		reply.Rcode = dns.RcodeNameError
	}
	for _, text := range records {
		var parts []string
		for len(text) > 200 { // a character string has at most 255 bytes
			parts, text = append(parts, text[:200]), text[200:]
		}
		reply.Answer = append(reply.Answer, &dns.TXT{Hdr: dns.RR_Header{Name: question.Question[0].Name, Rrtype: dns.TypeTXT,
			Class: dns.ClassINET}, Txt: append(parts, text)})
	}
	_ = w.WriteMsg(reply) // a client that timed out is gone
}

func TestRecordsVerifyDomains(t *testing.T) {
	s, resolver := startNameServer(t)
	name, content := sso.Record("acme.example", "challenge")
	require.Equal(t, "_lakewarden-challenge.acme.example", name)
	require.Equal(t, "lakewarden-verification=challenge", content)
	check := func() error { return sso.CheckRecord(t.Context(), resolver, "acme.example", "challenge") }
	require.ErrorIs(t, check(), sso.ErrRecord, "missing")
	s.set("acme.example", content)
	require.ErrorIs(t, check(), sso.ErrRecord, "of another name")
	for _, wrong := range []string{"lakewarden-verification=other", "challenge", "lakewarden-verification=challenge2", "x" + content, ""} {
		s.set(name, wrong)
		require.ErrorIs(t, check(), sso.ErrRecord, wrong)
	}
	s.set(name, "lakewarden-verification=other", strings.Repeat("x", 600), content)
	require.NoError(t, check(), "one of several")
	s.set(name, " "+content+" ")
	require.NoError(t, check(), "as some consoles store it")
	s.set(name)
	require.ErrorIs(t, check(), sso.ErrRecord, "late: the name exists, the record does not yet")
}

// TestMissingRecordsAreToldWithTheFoundOnes checks that the error names the records that were found,
// in a bounded form that nobody mistakes for text of the server.
func TestMissingRecordsAreToldWithTheFoundOnes(t *testing.T) {
	s, resolver := startNameServer(t)
	name, _ := sso.Record("acme.example", "challenge")
	found := func() string {
		var record *sso.RecordError
		require.ErrorAs(t, sso.CheckRecord(t.Context(), resolver, "acme.example", "challenge"), &record)
		for field, message := range record.FieldProblems() {
			require.Equal(t, name, field)
			return message
		}
		return ""
	}
	require.Equal(t, "has no TXT record", found())
	s.set(name)
	require.Equal(t, "has no TXT record", found(), "the name has records of other types")
	s.set(name, "lakewarden-verification=other", "v=spf1 -all")
	require.Equal(t, `has other TXT records: "lakewarden-verification=other" "v=spf1 -all"`, found())
	s.set(name, "a\r\n\x1b[31m\"<b>\u202e")
	require.Equal(t, `has other TXT records: "a\r\n\x1b[31m\"<b>\u202e"`, found())
	s.set(name, strings.Repeat("x", 101), "2", "3", "4", "5", "6", "7")
	require.Equal(t, `has other TXT records: "`+strings.Repeat("x", 100)+`"… "2" "3" "4" "5" and 2 more`, found())
}

func TestUnreadableRecordsAreNoProof(t *testing.T) {
	s, resolver := startNameServer(t)
	name, content := sso.Record("acme.example", "challenge")
	s.set(name, content)
	s.fail(dns.RcodeServerFailure, false)
	require.ErrorIs(t, sso.CheckRecord(t.Context(), resolver, "acme.example", "challenge"), sso.ErrResolver)
	s.fail(dns.RcodeRefused, false)
	require.ErrorIs(t, sso.CheckRecord(t.Context(), resolver, "acme.example", "challenge"), sso.ErrResolver)
	s.fail(dns.RcodeSuccess, true)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err := sso.CheckRecord(ctx, resolver, "acme.example", "challenge")
	require.Error(t, err)
	require.NotErrorIs(t, err, sso.ErrRecord, "an answer that is late says nothing")
	require.ErrorIs(t, sso.CheckRecord(t.Context(), timedOut{}, "acme.example", "challenge"), sso.ErrResolver)
}

// timedOut is a resolver whose server does not answer.
type timedOut struct{}

func (timedOut) LookupTXT(context.Context, string) ([]string, error) {
	return nil, &net.DNSError{Err: "i/o timeout", IsTimeout: true}
}
