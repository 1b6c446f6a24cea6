package oauth2

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/go-chi/chi/v5"
	"github.com/go-jose/go-jose/v4"

	"github.com/lakewarden/lakewarden/api/ops/identity"
	"github.com/lakewarden/lakewarden/api/problem"
)

// The paths of the endpoints other than [identity.AuthorizePath].
const (
	tokenPath      = "/oauth2/token" // #nosec G101 -- not a secret
	revokePath     = "/oauth2/revoke"
	introspectPath = "/oauth2/introspect"
	keysPath       = "/oauth2/jwks"
	userInfoPath   = "/oauth2/userinfo"
	registerPath   = "/oauth2/register"
	// ResourcePath is the path of the document about the server as a protected resource
	// (RFC 9728).
	ResourcePath = "/.well-known/oauth-protected-resource"
)

// Flows serves the endpoints of the flows. auth/oauth.Server implements it.
type Flows interface {
	Authorize(w http.ResponseWriter, r *http.Request)
	Token(w http.ResponseWriter, r *http.Request)
	Revoke(w http.ResponseWriter, r *http.Request)
	Introspect(w http.ResponseWriter, r *http.Request)
	UserInfo(w http.ResponseWriter, r *http.Request)
}

// PublicKeys returns the keys that verify access tokens.
type PublicKeys interface {
	PublicKeys(ctx context.Context) ([]jose.JSONWebKey, error)
}

// Server holds what the routes serve.
type Server struct {
	// Issuer is the public URL of the server.
	Issuer       string
	Flows        Flows
	Keys         PublicKeys
	Registration Registration
}

// Routes registers the routes that need no bearer credential in open, and those of the
// registration in identified.
func (s Server) Routes(open, identified chi.Router) {
	authorize := func(w http.ResponseWriter, r *http.Request) { s.Flows.Authorize(w, r) }
	open.Get(identity.AuthorizePath, authorize)
	open.Post(identity.AuthorizePath, authorize) // the page that asks for consent
	open.Post(tokenPath, func(w http.ResponseWriter, r *http.Request) { s.Flows.Token(w, r) })
	open.Post(revokePath, func(w http.ResponseWriter, r *http.Request) { s.Flows.Revoke(w, r) })
	open.Post(introspectPath, func(w http.ResponseWriter, r *http.Request) { s.Flows.Introspect(w, r) })
	userInfo := func(w http.ResponseWriter, r *http.Request) { s.Flows.UserInfo(w, r) }
	open.Get(userInfoPath, userInfo)
	open.Post(userInfoPath, userInfo)
	open.Get(keysPath, s.keys)
	for _, path := range []string{"/.well-known/openid-configuration", "/.well-known/oauth-authorization-server"} {
		open.Get(path, document(s.metadata()))
	}
	open.Get(ResourcePath, document(s.resource()))
	s.Registration.routes(open.With(Errors), identified)
}

// keys serves the key set. Its age in caches is far below the time for which a key is
// published before it signs.
func (s Server) keys(w http.ResponseWriter, r *http.Request) {
	keys, err := s.Keys.PublicKeys(r.Context())
	if err != nil {
		problem.Write(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/jwk-set+json")
	w.Header().Set("Cache-Control", "public, max-age=300")
	write(w, http.StatusOK, jose.JSONWebKeySet{Keys: keys})
}

// document serves a constant document.
func document(body any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "public, max-age=300")
		write(w, http.StatusOK, body)
	}
}

func write(w http.ResponseWriter, status int, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		panic(err) // bodies are made of texts, numbers and public keys
	}
	w.WriteHeader(status)
	_, _ = w.Write(text)
}
