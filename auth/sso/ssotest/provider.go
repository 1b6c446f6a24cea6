package ssotest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"
)

// The registration of the client at every [Provider].
const (
	ClientID     = "lakewarden-test"
	ClientSecret = "a secret & more" // shows whether it is encoded in the header
)

// Provider is an identity provider on loopback. Its methods are safe for concurrent use;
// its fields are set before it is used.
type Provider struct {
	testing.TB
	Server *httptest.Server
	// Claims are added to every ID token. A nil value removes a claim.
	Claims map[string]any
	// UserInfo is the reply of the userinfo endpoint, without sub.
	UserInfo map[string]any
	// Document changes the discovery document.
	Document func(map[string]any)
	// Tamper replaces ID tokens.
	Tamper func(claims map[string]any) string
	// Handler, if it is not nil and returns true, has answered a request.
	Handler func(w http.ResponseWriter, r *http.Request) bool
	// Now is the clock of the tokens.
	Now func() time.Time

	key   *ecdsa.PrivateKey
	mu    sync.Mutex
	codes map[string]url.Values // the authorization request of each code
	hits  map[string]int
}

// New starts a provider, which ends with tb.
func New(tb testing.TB) *Provider {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(tb, err)
	p := &Provider{TB: tb, key: key, codes: map[string]url.Values{}, hits: map[string]int{}, Now: time.Now,
		Claims: map[string]any{"email": "person@acme.example", "email_verified": true, "sid": "session-1"}}
	p.Server = httptest.NewServer(http.HandlerFunc(p.serve))
	tb.Cleanup(p.Server.Close)
	return p
}

// Issuer returns the issuer.
func (p *Provider) Issuer() string { return p.Server.URL }

// Hits returns how often a path was requested.
func (p *Provider) Hits(path string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.hits[path]
}

func (p *Provider) serve(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.hits[r.URL.Path]++
	p.mu.Unlock()
	if p.Handler != nil && p.Handler(w, r) {
		return
	}
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		document := map[string]any{
			"issuer": p.Issuer(), "authorization_endpoint": p.Issuer() + "/authorize", "token_endpoint": p.Issuer() + "/token",
			"jwks_uri": p.Issuer() + "/jwks", "userinfo_endpoint": p.Issuer() + "/userinfo", "end_session_endpoint": p.Issuer() + "/logout",
			"response_types_supported": []string{"code"}, "id_token_signing_alg_values_supported": []string{"ES256"},
			"authorization_response_iss_parameter_supported": true,
		}
		if p.Document != nil {
			p.Document(document)
		}
		reply(w, http.StatusOK, document)
	case "/jwks":
		reply(w, http.StatusOK, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: p.key.Public(), KeyID: "k", Algorithm: "ES256", Use: "sig"}}})
	case "/authorize":
		http.Redirect(w, r, p.Authorize(r.URL.String()), http.StatusFound)
	case "/token":
		p.token(w, r)
	case "/userinfo":
		info := maps.Clone(p.UserInfo)
		if info == nil {
			info = map[string]any{}
		}
		if _, ok := info["sub"]; !ok {
			info["sub"] = "subject-1"
		}
		reply(w, http.StatusOK, info)
	default:
		http.NotFound(w, r)
	}
}

// Authorize signs in at an authorization URL and returns the address that a browser is sent
// back to.
func (p *Provider) Authorize(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		p.Error(err)
		return ""
	}
	request := u.Query()
	code := rand.Text()
	p.mu.Lock()
	p.codes[code] = request
	p.mu.Unlock()
	return request.Get("redirect_uri") + "?" + url.Values{"code": {code}, "state": {request.Get("state")}, "iss": {p.Issuer()}}.Encode()
}

func (p *Provider) token(w http.ResponseWriter, r *http.Request) {
	id, secret, ok := r.BasicAuth()
	if idText, err := url.QueryUnescape(id); err == nil {
		id = idText
	}
	if secretText, err := url.QueryUnescape(secret); err == nil {
		secret = secretText
	}
	if !ok {
		id, secret = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	}
	if id != ClientID || secret != ClientSecret {
		reply(w, http.StatusUnauthorized, map[string]any{"error": "invalid_client"})
		return
	}
	p.mu.Lock()
	request, known := p.codes[r.PostFormValue("code")]
	delete(p.codes, r.PostFormValue("code"))
	p.mu.Unlock()
	challenge := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	if !known || request.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(challenge[:]) ||
		request.Get("code_challenge_method") != "S256" || request.Get("redirect_uri") != r.PostFormValue("redirect_uri") {
		reply(w, http.StatusBadRequest, map[string]any{"error": "invalid_grant"})
		return
	}
	claims := p.claims(map[string]any{"nonce": request.Get("nonce"), "sub": "subject-1"})
	token := ""
	if p.Tamper != nil {
		token = p.Tamper(claims)
	} else {
		token = p.Sign(claims)
	}
	reply(w, http.StatusOK, map[string]any{"access_token": "access", "token_type": "Bearer", "expires_in": 60, "id_token": token})
}

func (p *Provider) claims(claims map[string]any) map[string]any {
	now := p.Now().Unix()
	all := map[string]any{"iss": p.Issuer(), "aud": ClientID, "iat": now, "exp": now + 120}
	maps.Copy(all, claims)
	maps.Copy(all, p.Claims)
	maps.DeleteFunc(all, func(_ string, value any) bool { return value == nil })
	return all
}

// Sign signs claims with the provider's key.
func (p *Provider) Sign(claims map[string]any) string {
	return SignWith(p.TB, jose.ES256, p.key, "k", claims, "JWT")
}

// LogoutToken returns a logout token. A nil value removes a claim.
func (p *Provider) LogoutToken(changes map[string]any) string {
	now := p.Now().Unix()
	claims := map[string]any{
		"iss": p.Issuer(), "aud": ClientID, "iat": now, "exp": now + 120, "jti": rand.Text(), "sub": "subject-1",
		"events": map[string]any{"http://schemas.openid.net/event/backchannel-logout": map[string]any{}},
	}
	maps.Copy(claims, changes)
	maps.DeleteFunc(claims, func(_ string, value any) bool { return value == nil })
	return SignWith(p.TB, jose.ES256, p.key, "k", claims, "logout+jwt")
}

// PublicKey returns the key that verifies the provider's tokens.
func (p *Provider) PublicKey() crypto.PublicKey { return p.key.Public() }

// SignWith signs claims.
func SignWith(tb testing.TB, alg jose.SignatureAlgorithm, key any, kid string, claims map[string]any, typ string) string {
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: key}, (&jose.SignerOptions{}).WithType(jose.ContentType(typ)).
		WithHeader("kid", kid))
	if err != nil {
		tb.Error(err)
		return ""
	}
	text, err := json.Marshal(claims)
	if err != nil {
		tb.Error(err)
		return ""
	}
	signed, err := signer.Sign(text)
	if err != nil {
		tb.Error(err)
		return ""
	}
	compact, err := signed.CompactSerialize()
	if err != nil {
		tb.Error(err)
	}
	return compact
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client may have gone
}
