package kmstest

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"sync/atomic"
	"testing"
)

// Credentials puts the credential of the tests into the environment, and an address that
// must not be used.
func Credentials(tb testing.TB) {
	tb.Helper()
	none := filepath.Join(tb.TempDir(), "none")
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": AccessKeyID, "AWS_SECRET_ACCESS_KEY": SecretAccessKey, "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_CONFIG_FILE": none, "AWS_SHARED_CREDENTIALS_FILE": none,
		"AWS_ENDPOINT_URL": "http://127.0.0.1:1", "AWS_ENDPOINT_URL_KMS": "http://127.0.0.1:1",
	} {
		tb.Setenv(name, value)
	}
}

// Proxy forwards requests to a [Server], unless it has an answer of its own.
type Proxy struct {
	Endpoint string
	answer   atomic.Pointer[http.HandlerFunc]
}

// Proxy starts a proxy in front of the server. It ends with the test.
func (s *Server) Proxy() *Proxy {
	s.tb.Helper()
	target, err := url.Parse(s.Endpoint)
	if err != nil {
		s.tb.Fatalf("start a proxy: %v", err)
	}
	p, forward := &Proxy{}, httputil.NewSingleHostReverseProxy(target)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if answer := p.answer.Load(); answer != nil {
			(*answer)(w, r)
			return
		}
		forward.ServeHTTP(w, r)
	}))
	s.tb.Cleanup(server.Close)
	p.Endpoint = server.URL
	return p
}

// Answer replaces the server's answers from now on; nil restores them.
func (p *Proxy) Answer(handler http.HandlerFunc) {
	if handler == nil {
		p.answer.Store(nil)
		return
	}
	p.answer.Store(&handler)
}

// Down ends connections without an answer, as if the server did not run.
func Down(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
