package providertest

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
)

// The only client of a server.
const (
	ClientID     = "client id & more"
	ClientSecret = "client secret: with % and +"
)

// Server is an OAuth server that approves every authorization request of its client.
type Server struct {
	// URL is the issuer. Its endpoints are /authorize, /token and /revoke.
	URL string
	// Life is the life of access tokens in seconds.
	Life int
	// Mint makes an access token.
	Mint func() string

	mu sync.Mutex
	// codes maps a code to its authorization request.
	codes map[string]url.Values
	// refresh maps a refresh token to its family; used ones stay.
	refresh map[string]string
	used    map[string]bool
	revoked map[string]bool
	// refreshes counts the exchanges of refresh tokens that were tried.
	refreshes int
	// issued are all tokens, access and refresh tokens alike.
	issued []string
	// broken makes the token endpoint fail.
	broken bool
}

// New starts a server that ends with the test.
func New(tb testing.TB) *Server {
	s := &Server{
		Life: 3600, Mint: func() string { return "access " + rand.Text() },
		codes: map[string]url.Values{}, refresh: map[string]string{}, used: map[string]bool{}, revoked: map[string]bool{},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", s.discovery)
	mux.HandleFunc("GET /authorize", s.authorize)
	mux.HandleFunc("POST /token", s.token)
	mux.HandleFunc("POST /revoke", s.revoke)
	server := httptest.NewServer(mux)
	tb.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

// RevokeAll revokes all refresh tokens, as a user does at the provider.
func (s *Server) RevokeAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, family := range s.refresh {
		s.revoked[family] = true
	}
}

// Revoked returns the number of revoked families of refresh tokens.
func (s *Server) Revoked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.revoked)
}

// Refreshes returns the number of exchanges of refresh tokens that were tried.
func (s *Server) Refreshes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refreshes
}

// Issued returns all access and refresh tokens so far.
func (s *Server) Issued() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.issued)
}

// Break makes the token endpoint fail, or work again.
func (s *Server) Break(broken bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = broken
}

// Approve opens an authorization URL as a browser does whose user agrees, and returns the
// redirect to the client.
func (s *Server) Approve(tb testing.TB, authorizationURL string) *url.URL {
	tb.Helper()
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	reply, err := client.Get(authorizationURL)
	if err != nil {
		tb.Fatal(err)
	}
	_ = reply.Body.Close()
	to, err := reply.Location()
	if err != nil {
		tb.Fatalf("the provider answered %d: %v", reply.StatusCode, err)
	}
	return to
}

func (s *Server) discovery(w http.ResponseWriter, _ *http.Request) {
	write(w, http.StatusOK, map[string]any{
		"issuer": s.URL, "authorization_endpoint": s.URL + "/authorize", "token_endpoint": s.URL + "/token",
		"revocation_endpoint": s.URL + "/revoke",
	})
}

func (s *Server) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	switch {
	case q.Get("response_type") != "code", q.Get("client_id") != ClientID, q.Get("state") == "", q.Get("redirect_uri") == "",
		q.Get("code_challenge_method") != "S256", len(q.Get("code_challenge")) != 43,
		!strings.Contains(" "+q.Get("scope")+" ", " offline_access "):
		write(w, http.StatusBadRequest, map[string]any{"error": "invalid_request"})
		return
	}
	code := rand.Text()
	s.mu.Lock()
	s.codes[code] = q
	s.mu.Unlock()
	to, _ := url.Parse(q.Get("redirect_uri"))
	to.RawQuery = url.Values{"code": {code}, "state": {q.Get("state")}, "iss": {s.URL}}.Encode()
	http.Redirect(w, r, to.String(), http.StatusFound)
}

// authenticated checks the client secret in the header, the only place where this server
// takes it.
func authenticated(r *http.Request) bool {
	id, secret, ok := r.BasicAuth()
	id, idErr := url.QueryUnescape(id)
	secret, secretErr := url.QueryUnescape(secret)
	return ok && idErr == nil && secretErr == nil && id == ClientID && secret == ClientSecret
}

func (s *Server) token(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.broken:
		write(w, http.StatusServiceUnavailable, map[string]any{"secret": "text of the provider"})
		return
	case !authenticated(r):
		write(w, http.StatusUnauthorized, map[string]any{"error": "invalid_client", "error_description": "text of the provider"})
		return
	}
	var family, scope string
	switch r.PostFormValue("grant_type") {
	case "authorization_code":
		code := r.PostFormValue("code")
		request, ok := s.codes[code]
		delete(s.codes, code)
		sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
		if ok && request.Get("redirect_uri") == r.PostFormValue("redirect_uri") &&
			request.Get("code_challenge") == base64.RawURLEncoding.EncodeToString(sum[:]) {
			family, scope = rand.Text(), request.Get("scope")
		}
	case "refresh_token":
		s.refreshes++
		token := r.PostFormValue("refresh_token")
		family = s.refresh[token]
		if s.used[token] {
			s.revoked[family] = true
		}
		s.used[token] = true
		if s.revoked[family] {
			family = ""
		}
	}
	if family == "" {
		write(w, http.StatusBadRequest, map[string]any{"error": "invalid_grant", "error_description": "text of the provider"})
		return
	}
	access, refresh := s.Mint(), rand.Text()
	s.refresh[refresh] = family
	s.issued = append(s.issued, access, refresh)
	reply := map[string]any{
		"access_token": access, "token_type": "Bearer", "expires_in": s.Life, "refresh_token": refresh,
	}
	if scope != "" {
		claims, _ := json.Marshal(map[string]string{"sub": "subject-1"})
		reply["scope"], reply["id_token"] = scope, "e30."+base64.RawURLEncoding.EncodeToString(claims)+".c2ln"
	}
	write(w, http.StatusOK, reply)
}

func (s *Server) revoke(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !authenticated(r) {
		write(w, http.StatusUnauthorized, map[string]any{"error": "invalid_client"})
		return
	}
	if family := s.refresh[r.PostFormValue("token")]; family != "" {
		s.revoked[family] = true
	}
}

func write(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
