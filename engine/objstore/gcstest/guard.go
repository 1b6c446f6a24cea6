package gcstest

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/uuid"
)

// Guard is a proxy that forwards requests with a good token to a server, and the authority that
// issues these tokens for keys of service accounts.
type Guard struct {
	// Endpoint is the URL of the proxy.
	Endpoint string
	// TokenURI is the URL of the authority.
	TokenURI string
	// Metadata is the host and port of the metadata server of a machine, whose tokens are those of
	// the key MachineKey.
	Metadata string

	mu       sync.Mutex
	machines int
	keys     map[string]*rsa.PublicKey // by the identifier of the key
	tokens   map[string]grant
	lifetime time.Duration
	answer   http.HandlerFunc
}

// grant is what a token is good for.
type grant struct {
	key     string
	expires time.Time
}

// Guard starts a proxy and an authority; they end with the test.
func (s Server) Guard(tb testing.TB) *Guard {
	tb.Helper()
	target, err := url.Parse(s.Endpoint)
	if err != nil {
		tb.Fatalf("parse the server's URL: %v", err)
	}
	g := &Guard{keys: map[string]*rsa.PublicKey{}, tokens: map[string]grant{}, lifetime: time.Hour}
	forward := httputil.NewSingleHostReverseProxy(target)
	forward.Transport = &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 64}
	forward.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !g.accepts(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = fmt.Fprint(w, `{"error":{"code":401,"message":"secret of the store","errors":[{"reason":"authError"}]}}`)
			return
		}
		forward.ServeHTTP(w, r)
	}))
	tb.Cleanup(proxy.Close)
	tb.Cleanup(forward.Transport.(*http.Transport).CloseIdleConnections)
	mux := http.NewServeMux()
	mux.HandleFunc("POST /token", g.token)
	mux.HandleFunc("GET /computeMetadata/v1/instance/service-accounts/default/token", g.machine)
	authority := httptest.NewServer(mux)
	tb.Cleanup(authority.Close)
	g.Metadata = strings.TrimPrefix(authority.URL, "http://")
	g.Endpoint, g.TokenURI = proxy.URL, authority.URL+"/token"
	return g
}

// signingKey is the same for all keys of a test binary, because it is slow to make.
var signingKey = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) })

// Key makes a key of a service account, as a JSON document. id identifies it for Revoke.
func (g *Guard) Key(tb testing.TB, id string) (document string) {
	tb.Helper()
	private, err := signingKey()
	if err != nil {
		tb.Fatalf("make a key: %v", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		tb.Fatalf("encode a key: %v", err)
	}
	encoded, err := json.Marshal(map[string]string{
		"type": "service_account", "project_id": "test", "private_key_id": id, "client_email": "test@test.iam.gserviceaccount.com",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), "token_uri": g.TokenURI,
	})
	if err != nil {
		tb.Fatalf("encode a key: %v", err)
	}
	g.locked(func() { g.keys[id] = &private.PublicKey })
	return string(encoded)
}

// Revoke makes a key unknown, and its tokens bad.
func (g *Guard) Revoke(id string) {
	g.locked(func() {
		delete(g.keys, id)
		for value, token := range g.tokens {
			if token.key == id {
				delete(g.tokens, value)
			}
		}
	})
}

// RevokeTokens makes all tokens bad; the keys stay good.
func (g *Guard) RevokeTokens() { g.locked(func() { clear(g.tokens) }) }

// SetLifetime changes how long tokens are good that are issued from now on.
func (g *Guard) SetLifetime(lifetime time.Duration) { g.locked(func() { g.lifetime = lifetime }) }

// Answer lets the authority answer every request by a handler instead; nil ends that.
func (g *Guard) Answer(handler http.HandlerFunc) { g.locked(func() { g.answer = handler }) }

// Issued returns the number of tokens that were issued and not revoked.
func (g *Guard) Issued() (n int) {
	g.locked(func() { n = len(g.tokens) })
	return n
}

// Tokens returns the tokens that were issued and not revoked.
func (g *Guard) Tokens() (all []string) {
	g.locked(func() { all = slices.Collect(maps.Keys(g.tokens)) })
	return all
}

func (g *Guard) locked(do func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	do()
}

func (g *Guard) accepts(value string) (good bool) {
	g.locked(func() { good = time.Now().Before(g.tokens[value].expires) })
	return good
}

// token is the authority's endpoint.
func (g *Guard) token(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.answer != nil {
		answer := g.answer
		g.mu.Unlock()
		defer g.mu.Lock()
		answer(w, r)
		return
	}
	id, ok := g.verify(r.PostFormValue("assertion"))
	w.Header().Set("Content-Type", "application/json")
	if !ok || r.PostFormValue("grant_type") != "urn:ietf:params:oauth:grant-type:jwt-bearer" {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = fmt.Fprint(w, `{"error":"invalid_grant","error_description":"secret of the authority"}`)
		return
	}
	value := uuid.NewString()
	g.tokens[value] = grant{id, time.Now().Add(g.lifetime)}
	_ = json.NewEncoder(w).Encode(map[string]any{"access_token": value, "token_type": "Bearer", "expires_in": int(g.lifetime.Seconds())})
}

// MachineKey identifies the tokens of the machine for Revoke.
const MachineKey = "machine"

// machine is the endpoint of the metadata server.
func (g *Guard) machine(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Metadata-Flavor") != "Google" || !strings.Contains(r.URL.Query().Get("scopes"), "devstorage") {
		http.Error(w, "secret of the metadata server", http.StatusForbidden)
		return
	}
	value := uuid.NewString()
	g.Accept(value, MachineKey)
	g.locked(func() { g.machines++ })
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"access_token": value, "token_type": "Bearer", "expires_in": 3600})
}

// MachineTokens returns the number of tokens that the metadata server has issued.
func (g *Guard) MachineTokens() (n int) {
	g.locked(func() { n = g.machines })
	return n
}

// Accept makes a token good for an hour. key identifies it for Revoke.
func (g *Guard) Accept(token, key string) {
	g.locked(func() { g.tokens[token] = grant{key, time.Now().Add(time.Hour)} })
}

// verify returns the identifier of the key that signed an assertion. The caller holds the lock.
func (g *Guard) verify(assertion string) (id string, ok bool) {
	signed, err := jose.ParseSignedCompact(assertion, []jose.SignatureAlgorithm{jose.RS256})
	if err != nil {
		return "", false
	}
	id = signed.Signatures[0].Header.KeyID
	key := g.keys[id]
	if key == nil {
		return "", false
	}
	payload, err := signed.Verify(key)
	var claims struct {
		Issuer   string `json:"iss"`
		Audience string `json:"aud"`
		Scope    string `json:"scope"`
		Expires  int64  `json:"exp"`
	}
	if err != nil || json.Unmarshal(payload, &claims) != nil {
		return "", false
	}
	return id, claims.Issuer != "" && claims.Audience == g.TokenURI && claims.Scope != "" && time.Unix(claims.Expires, 0).After(time.Now())
}
