package azuretest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// The service principal and the managed identity that an Authority knows.
const (
	TenantID       = "11111111-2222-3333-4444-555555555555"
	ClientID       = "66666666-7777-8888-9999-aaaaaaaaaaaa"
	IdentityHeader = "lakewarden-test-identity-header"
	// WorkloadToken is the token with which the workload's platform vouches for the service
	// principal.
	WorkloadToken = "lakewarden-test-workload-token"
)

// Authority is an identity service: it issues tokens to the service principal, at its URL, and to
// the managed identities of the machine, at IdentityEndpoint.
type Authority struct {
	// URL is its base.
	URL string
	// IdentityEndpoint is the URL for managed identities.
	IdentityEndpoint string

	mu       sync.Mutex
	secret   string
	lifetime time.Duration
	issued   []string // tokens
	answer   http.HandlerFunc
}

// NewAuthority starts an identity service that ends with the test. secret is that of the service
// principal.
func NewAuthority(tb testing.TB, secret string) *Authority {
	tb.Helper()
	a := &Authority{secret: secret, lifetime: time.Hour}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /{tenant}/oauth2/v2.0/token", a.principal)
	mux.HandleFunc("GET /identity", a.managed)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		answer := a.answer
		a.mu.Unlock()
		if answer == nil {
			answer = mux.ServeHTTP
		}
		answer(w, r)
	}))
	tb.Cleanup(server.Close)
	a.URL, a.IdentityEndpoint = server.URL, server.URL+"/identity"
	return a
}

// SetSecret changes the secret of the service principal. Tokens that were issued stay good.
func (a *Authority) SetSecret(secret string) { a.locked(func() { a.secret = secret }) }

// SetLifetime changes how long tokens are good that are issued from now on.
func (a *Authority) SetLifetime(lifetime time.Duration) { a.locked(func() { a.lifetime = lifetime }) }

// Answer lets every request be answered by a handler instead; nil ends that.
func (a *Authority) Answer(handler http.HandlerFunc) { a.locked(func() { a.answer = handler }) }

// Issued returns the number of tokens issued so far.
func (a *Authority) Issued() int { return len(a.Tokens()) }

// Tokens returns the tokens issued so far.
func (a *Authority) Tokens() (all []string) {
	a.locked(func() { all = a.issued[:len(a.issued):len(a.issued)] })
	return all
}

func (a *Authority) locked(do func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	do()
}

// principal is the grant of client credentials.
func (a *Authority) principal(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	proven := r.PostFormValue("client_secret") == a.secret
	if r.PostFormValue("client_assertion_type") == "urn:ietf:params:oauth:client-assertion-type:jwt-bearer" {
		proven = r.PostFormValue("client_assertion") == WorkloadToken
	}
	known := proven && r.PathValue("tenant") == TenantID && r.PostFormValue("client_id") == ClientID
	switch {
	case r.PostFormValue("grant_type") != "client_credentials" || r.PostFormValue("scope") != "https://storage.azure.com/.default":
		refuse(w, http.StatusBadRequest, "invalid_scope")
	case !known:
		refuse(w, http.StatusUnauthorized, "invalid_client")
	default:
		a.issue(w, false)
	}
}

// managed is the endpoint of App Service. The system's identity and the one with ClientID exist.
func (a *Authority) managed(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	query := r.URL.Query()
	switch {
	case r.Header.Get("X-IDENTITY-HEADER") != IdentityHeader && r.Header.Get("Metadata") != "true":
		refuse(w, http.StatusUnauthorized, "unauthorized")
	case query.Get("resource") != "https://storage.azure.com/" || query.Get("api-version") == "":
		refuse(w, http.StatusBadRequest, "invalid_resource")
	case query.Has("client_id") && query.Get("client_id") != ClientID:
		refuse(w, http.StatusBadRequest, "invalid_request")
	default:
		a.issue(w, true)
	}
}

// issue answers with a token that the server accepts: it verifies the claims, not the signature.
// The endpoints of managed identities send numbers as strings.
func (a *Authority) issue(w http.ResponseWriter, quoted bool) {
	token := Token(a.lifetime, fmt.Sprint(len(a.issued)+1))
	a.issued = append(a.issued, token)
	reply := map[string]any{"access_token": token, "token_type": "Bearer", "expires_in": int(a.lifetime.Seconds())}
	if quoted {
		reply["expires_in"] = fmt.Sprint(reply["expires_in"])
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(reply)
}

// Token returns a token that the server accepts for a time. id distinguishes it from others.
func Token(lifetime time.Duration, id string) string {
	now := time.Now()
	claims, _ := json.Marshal(map[string]any{ // texts and numbers: cannot fail
		"aud": "https://storage.azure.com", "iss": "https://sts.windows.net/" + TenantID + "/", "appid": ClientID,
		"iat": now.Unix(), "nbf": now.Add(-time.Minute).Unix(), "exp": now.Add(lifetime).Unix() + 1, "jti": id,
	})
	encode := base64.RawURLEncoding.EncodeToString
	return strings.Join([]string{encode([]byte(`{"alg":"RS256","typ":"JWT"}`)), encode(claims), encode([]byte("unsigned"))}, ".")
}

func refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `{"error":%q,"error_description":"secret of the authority"}`, code)
}
