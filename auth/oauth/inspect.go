package oauth

import (
	"context"
	"errors"
	"net/http"

	"github.com/google/uuid"
	"github.com/ory/fosite"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/auth/session"
)

// authenticate returns the client that sent a form, and the token that the form is about.
func (s *Server) authenticate(w http.ResponseWriter, r *http.Request) (Client, string, error) {
	if err := form(w, r); err != nil {
		return Client{}, "", err
	}
	if r.Header.Get("Authorization") == "" && r.PostForm.Get("client_id") == "" {
		return Client{}, "", fosite.ErrInvalidClient.WithHint("The request has no credentials of a client.")
	}
	found, err := s.flows.AuthenticateClient(r.Context(), r, r.PostForm)
	if err != nil {
		return Client{}, "", err
	}
	token := r.PostForm.Get("token")
	if token == "" {
		return Client{}, "", fosite.ErrInvalidRequest.WithHint("The parameter token is missing.")
	}
	return found.(*registered).Client, token, nil // of store.GetClient
}

// Revoke serves the revocation endpoint (RFC 7009). The session of the token ends, and
// with it all its access tokens and refresh tokens. A token that is unknown, no longer
// valid, or another client's has no effect.
func (s *Server) Revoke(w http.ResponseWriter, r *http.Request) {
	e := Event{Kind: KindRevocation}
	client, token, err := s.authenticate(w, r)
	if err == nil {
		e.Client = client.ID
		e.Session, err = s.sessionOf(r.Context(), client, token)
	}
	if err == nil && e.Session != uuid.Nil {
		if err = s.sessions.RevokeSession(r.Context(), e.Session); err == nil {
			s.monitor.Issued(r, e)
		}
	}
	if err != nil {
		s.refuseClient(w, r, e, err)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
}

// sessionOf returns the session of a token that was issued to the client, or [uuid.Nil].
func (s *Server) sessionOf(ctx context.Context, client Client, token string) (uuid.UUID, error) {
	found, _, err := s.grants.Grant(ctx, session.GrantRefresh, session.Hash(token))
	switch {
	case err == nil && found.Client == client.ID:
		return found.Session, nil
	case err == nil, errors.Is(err, session.ErrReused): // the session has ended already
		return uuid.Nil, nil
	case !errors.Is(err, session.ErrNotFound):
		return uuid.Nil, err
	}
	_, claims, err := s.tokens.Inspect(ctx, token)
	switch {
	case errors.Is(err, auth.ErrUnauthenticated):
		return uuid.Nil, nil
	case err != nil:
		return uuid.Nil, err
	case claims.Issuer != s.issuer || claims.Client != client.ID:
		return uuid.Nil, nil
	}
	return claims.Session, nil
}

// introspection is the reply about a valid token (RFC 7662).
type introspection struct {
	Active    bool   `json:"active"`
	TokenType string `json:"token_type"`
	Issuer    string `json:"iss"`
	Audience  string `json:"aud"`
	Subject   string `json:"sub"`
	Client    string `json:"client_id"`
	Org       string `json:"org"`
	// Scope holds the scopes that the token has now, with the present role of its user.
	Scope    string `json:"scope"`
	Expiry   int64  `json:"exp"`
	IssuedAt int64  `json:"iat"`
	ID       string `json:"jti"`
}

// Introspect serves the introspection endpoint (RFC 7662) for access tokens. The client
// must authenticate by a secret, and learns of tokens for its own organisation only.
func (s *Server) Introspect(w http.ResponseWriter, r *http.Request) {
	e := Event{Kind: KindIntrospection}
	client, token, err := s.authenticate(w, r)
	if err == nil && (client.SecretHash == nil || client.Org == uuid.Nil) {
		err = fosite.ErrInvalidClient.WithHint("The client must authenticate by a secret.")
	}
	if err != nil {
		s.refuseClient(w, r, e, err)
		return
	}
	p, claims, err := s.tokens.Inspect(r.Context(), token)
	switch {
	case errors.Is(err, auth.ErrUnauthenticated):
	case err != nil:
		e.Client = client.ID
		s.refuseClient(w, r, e, err)
		return
	case claims.Issuer == s.issuer && p.OrgID == client.Org:
		now := granted{openID: hasOpenID(claims.Scope)}
		reply(w, http.StatusOK, introspection{
			Active: true, TokenType: "Bearer", Issuer: claims.Issuer, Audience: claims.Audience, Subject: p.UserID.String(), Client: claims.Client,
			Org: p.OrgID.String(), Scope: now.scopeText(p.Scopes), Expiry: claims.Expiry.Unix(), IssuedAt: claims.IssuedAt.Unix(),
			ID: claims.ID,
		})
		return
	}
	reply(w, http.StatusOK, map[string]bool{"active": false})
}
