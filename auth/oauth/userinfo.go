package oauth

import (
	"errors"
	"net/http"
	"strings"

	"github.com/lakewarden/lakewarden/auth"
)

// userInfo is what a client learns of a person: OpenID Connect Core 1.0 §5.1.
type userInfo struct {
	Subject       string `json:"sub"`
	Email         string `json:"email"`
	EmailVerified bool   `json:"email_verified"`
	Name          string `json:"name,omitempty"`
}

// UserInfo serves the UserInfo endpoint: OpenID Connect Core 1.0 §5.3. It takes an access token with
// the scope openid in the header Authorization (RFC 6750 §2.1).
func (s *Server) UserInfo(w http.ResponseWriter, r *http.Request) {
	e := Event{Kind: KindUserInfo}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") || token == "" {
		w.Header().Set("WWW-Authenticate", `Bearer realm="lakewarden"`)
		reply(w, http.StatusUnauthorized, map[string]string{"error": "invalid_token", "error_description": "The request has no access token."})
		return
	}
	p, claims, err := s.tokens.Inspect(r.Context(), token)
	e.Client, e.User, e.Org, e.Session = bounded(claims.Client), p.UserID, p.OrgID, claims.Session
	switch {
	case errors.Is(err, auth.ErrUnauthenticated), err == nil && claims.Issuer != s.issuer:
		s.refuseToken(w, r, e, http.StatusUnauthorized, "invalid_token", "The access token is not valid.")
		return
	case err != nil:
		s.fail(w, r, s.refusalOf(r.Context(), err))
		return
	case !hasOpenID(claims.Scope):
		s.refuseToken(w, r, e, http.StatusForbidden, "insufficient_scope", "The access token lacks the scope openid.")
		return
	}
	// People sign in only after they have proved that they read the e-mails to their address: by a link
	// in one, or by a provider that calls the address verified.
	info := userInfo{Subject: p.UserID.String(), EmailVerified: true}
	if info.Email, info.Name, err = s.people.Person(r.Context(), p.UserID); err != nil {
		s.fail(w, r, s.refusalOf(r.Context(), err))
		return
	}
	reply(w, http.StatusOK, info)
}

// refuseToken refuses an access token in the form of RFC 6750 §3.
func (s *Server) refuseToken(w http.ResponseWriter, r *http.Request, e Event, status int, code, description string) {
	e.Reason = code
	s.monitor.Refused(r, e)
	challenge := `Bearer realm="lakewarden", error="` + code + `", error_description="` + description + `"`
	if status == http.StatusForbidden {
		challenge += `, scope="` + ScopeOpenID + `"`
	}
	w.Header().Set("WWW-Authenticate", challenge)
	reply(w, status, map[string]string{"error": code, "error_description": description})
}
