package storage_test

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/objstore/s3test"
)

// gate forwards requests to a store, unless it has an answer of its own.
type gate struct {
	URL string

	mu     sync.Mutex
	answer http.HandlerFunc
}

// newGate starts a gate in front of a URL. before, if not nil, may answer a request, and reports
// whether it did.
func newGate(t *testing.T, target string, before func(http.ResponseWriter, *http.Request) bool) *gate {
	t.Helper()
	to, err := url.Parse(target)
	require.NoError(t, err)
	g := &gate{}
	transport := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 64}
	t.Cleanup(transport.CloseIdleConnections)
	forward := &httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host = to.Scheme, to.Host // the host is signed
	}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		answer := g.answer
		g.mu.Unlock()
		switch {
		case answer != nil:
			answer(w, r)
		case before == nil || !before(w, r):
			forward.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	g.URL = server.URL
	return g
}

// Answer replaces the store's answers from now on; nil restores them.
func (g *gate) Answer(handler http.HandlerFunc) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.answer = handler
}

// repeatRequest refuses a request with an error that repeats all of it.
func repeatRequest(w http.ResponseWriter, r *http.Request) {
	dump, _ := httputil.DumpRequest(r, false)
	_ = r.ParseForm()
	w.WriteHeader(http.StatusForbidden)
	_, _ = fmt.Fprintf(w, "<Error><Code>AccessDenied</Code><Message>%s %v</Message></Error>", dump, r.Form)
}

// cutConnection ends a connection without an answer, so that the client's error has the URL.
func cutConnection(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// sessionGate adds sessions and roles to a store that has none. It signs their requests again, because
// the store accepts no token.
type sessionGate struct {
	*gate
	mu       sync.Mutex
	sessions map[string]session // by access key
	issued   []string           // secrets
}

// session is the rest of a temporary key.
type session struct{ secret, token string }

// grantedRole is the answer of STS.
const grantedRole = `<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials>` +
	`<AccessKeyId>%s</AccessKeyId><SecretAccessKey>%s</SecretAccessKey><SessionToken>%s</SessionToken><Expiration>%s</Expiration>` +
	`</Credentials></AssumeRoleResult></AssumeRoleResponse>`

var signedBy = regexp.MustCompile(`Credential=([^/]+)/`)

// newSessionGate starts a gate. Keys of sessions are refused without their token, and STS gives
// one session to everybody who asks for the one role.
func newSessionGate(t *testing.T, server s3test.Server) *sessionGate {
	g := &sessionGate{sessions: map[string]session{}}
	assumed := "key" + uuid.NewString()[:8]
	secret := server.User(t, assumed, s3test.RoleAdmin)
	token := g.begin(assumed, secret)
	to := strings.TrimPrefix(server.Endpoint, "http://")
	g.gate = newGate(t, server.Endpoint, func(w http.ResponseWriter, r *http.Request) bool {
		g.mu.Lock()
		defer g.mu.Unlock()
		if r.Method == http.MethodPost && r.URL.Path == "/" {
			w.Header().Set("Content-Type", "text/xml")
			if r.PostFormValue("RoleArn") != s3test.PlatformRole {
				w.WriteHeader(http.StatusForbidden)
				return true
			}
			g.issued = []string{secret, token}
			end := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
			_, _ = fmt.Fprintf(w, grantedRole, assumed, secret, token, end)
			return true
		}
		token := r.Header.Get("X-Amz-Security-Token")
		key := signedBy.FindStringSubmatch(r.Header.Get("Authorization"))
		if token == "" || key == nil {
			return false
		}
		if g.sessions[key[1]].token != token {
			w.WriteHeader(http.StatusForbidden)
			_, _ = fmt.Fprintf(w, "<Error><Code>InvalidToken</Code><Message>%s</Message></Error>", token)
			return true
		}
		r.Header.Del("X-Amz-Security-Token")
		r.Header.Del("Authorization")
		r.URL.Host, r.Host = to, to
		signer := v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true })
		user := aws.Credentials{AccessKeyID: key[1], SecretAccessKey: g.sessions[key[1]].secret}
		_ = signer.SignHTTP(r.Context(), user, r, r.Header.Get("X-Amz-Content-Sha256"), "s3", s3test.Region, time.Now())
		return false
	})
	return g
}

// begin makes a key that of a session, and returns its token.
func (g *sessionGate) begin(key, secret string) (token string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	token = "session/" + rand.Text() + "+" + rand.Text() + "=="
	g.sessions[key] = session{secret, token}
	return token
}

// granted returns the secrets that STS has issued.
func (g *sessionGate) granted() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.issued)
}
