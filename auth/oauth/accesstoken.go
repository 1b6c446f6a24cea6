package oauth

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/ory/fosite"
	"github.com/ory/fosite/handler/oauth2"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/auth/jwt"
	"github.com/lakewarden/lakewarden/auth/session"
)

// accessClaims are the claims of an access token (RFC 9068).
type accessClaims struct {
	Issuer   string `json:"iss"`
	Audience string `json:"aud"`
	Subject  string `json:"sub"`
	Expiry   int64  `json:"exp"`
	IssuedAt int64  `json:"iat"`
	ID       string `json:"jti"`
	Client   string `json:"client_id"`
	Session  string `json:"sid"`
	Scope    string `json:"scope"`
	Org      string `json:"org,omitempty"`
}

// accessToken signs an access token.
func (s *Server) accessToken(ctx context.Context, g *granted, client Client, scopes auth.ScopeSet) (string, error) {
	now := s.now()
	expiry := now.Add(AccessLife)
	for _, end := range []time.Time{g.session.ExpiresAt, client.Ends} {
		if !end.IsZero() && expiry.After(end) {
			expiry = end
		}
	}
	g.life = expiry.Sub(now)
	claims := accessClaims{
		Issuer: s.issuer, Audience: jwt.Audience, Subject: g.session.User.String(), Expiry: expiry.Unix(), IssuedAt: now.Unix(),
		ID: uuid.NewString(), Client: client.ID, Session: g.session.ID.String(), Scope: g.scopeText(scopes),
	}
	if g.org != uuid.Nil {
		claims.Org = g.org.String()
	}
	return s.sign(ctx, "at+jwt", claims)
}

// strategy generates tokens for fosite. Codes and refresh tokens are random and checked by
// the store, so they need no validation here.
type strategy struct{ *Server }

var _ oauth2.CoreStrategy = (*strategy)(nil)

func signature(token string) string { return hex.EncodeToString(session.Hash(token)) }

func opaque() (token, sig string, err error) {
	token = session.NewSecret()
	return token, signature(token), nil
}

// AccessTokenSignature implements oauth2.AccessTokenStrategy.
func (*strategy) AccessTokenSignature(_ context.Context, token string) string {
	return signature(token)
}

// GenerateAccessToken implements oauth2.AccessTokenStrategy.
func (s *strategy) GenerateAccessToken(ctx context.Context, r fosite.Requester) (token, sig string, err error) {
	g, ok := r.GetSession().(*granted)
	client, known := r.GetClient().(*registered)
	if !ok || !known {
		return "", "", errors.New("request has no session")
	}
	token, err = s.accessToken(ctx, g, client.Client, g.effective(client.Client))
	return token, signature(token), err
}

// effective returns the scopes of the next access token.
func (g *granted) effective(c Client) auth.ScopeSet {
	scopes := g.scopes.Intersect(c.Scopes).Intersect(g.allowed)
	if g.narrowed != nil {
		scopes = scopes.Intersect(*g.narrowed)
	}
	return scopes
}

// ValidateAccessToken implements oauth2.AccessTokenStrategy. Access tokens are verified by
// auth/jwt alone.
func (*strategy) ValidateAccessToken(context.Context, fosite.Requester, string) error {
	return fosite.ErrInactiveToken
}

// RefreshTokenSignature implements oauth2.RefreshTokenStrategy.
func (*strategy) RefreshTokenSignature(_ context.Context, token string) string {
	return signature(token)
}

// GenerateRefreshToken implements oauth2.RefreshTokenStrategy.
func (*strategy) GenerateRefreshToken(context.Context, fosite.Requester) (token, sig string, err error) {
	return opaque()
}

// ValidateRefreshToken implements oauth2.RefreshTokenStrategy.
func (*strategy) ValidateRefreshToken(context.Context, fosite.Requester, string) error { return nil }

// AuthorizeCodeSignature implements oauth2.AuthorizeCodeStrategy.
func (*strategy) AuthorizeCodeSignature(_ context.Context, code string) string {
	return signature(code)
}

// GenerateAuthorizeCode implements oauth2.AuthorizeCodeStrategy.
func (*strategy) GenerateAuthorizeCode(context.Context, fosite.Requester) (code, sig string, err error) {
	return opaque()
}

// ValidateAuthorizeCode implements oauth2.AuthorizeCodeStrategy.
func (*strategy) ValidateAuthorizeCode(context.Context, fosite.Requester, string) error { return nil }

// Issue returns tokens of a stored session for its client and its organisation, with all
// scopes of the client, without a request of the client. Errors of [Access] are returned as
// they are.
func (s *Server) Issue(ctx context.Context, of session.Session) (session.Tokens, error) {
	client, err := s.find(ctx, of.Client)
	if err != nil {
		return session.Tokens{}, err
	}
	given := &granted{session: of, scopes: client.Scopes}
	if given.org, given.allowed, err = s.organisation(ctx, of, client, of.Org); err != nil {
		return session.Tokens{}, err
	}
	scopes := given.effective(client)
	access, err := s.accessToken(ctx, given, client, scopes)
	if err != nil {
		return session.Tokens{}, err
	}
	r := fosite.NewRequest()
	r.Client, r.Session = &registered{Client: client}, given
	stored, err := (&store{s}).grantOf(session.GrantRefresh, r, RefreshLife)
	if err != nil {
		return session.Tokens{}, err
	}
	refresh, sig, _ := opaque()
	if err := s.grants.CreateGrant(ctx, hashOf(sig), stored); err != nil {
		return session.Tokens{}, err
	}
	return session.Tokens{AccessToken: access, TokenType: "Bearer", ExpiresIn: given.expiresIn(), RefreshToken: refresh,
		Scope: scopes.String()}, nil
}

// organisation returns the organisation that tokens of a session are for, if the user may act in
// it, and the scopes that the user's role allows there. If wanted is [uuid.Nil], it is the one that
// the client or the session is limited to. A token of no organisation may
// have all scopes, because roles belong to organisations.
func (s *Server) organisation(ctx context.Context, of session.Session, client Client, wanted uuid.UUID) (org uuid.UUID,
	allowed auth.ScopeSet, err error) {
	org = wanted
	for _, limit := range []uuid.UUID{client.Org, of.Org} {
		switch {
		case limit == uuid.Nil:
		case org == uuid.Nil:
			org = limit
		case org != limit:
			return uuid.Nil, allowed, fmt.Errorf("%w: another organisation", auth.ErrForbidden)
		}
	}
	if org == uuid.Nil {
		return org, auth.AllScopes(), nil
	}
	role, err := s.access.Allow(ctx, of, org)
	if err == nil {
		err = s.admits(ctx, of, client, org)
	}
	return org, role.Scopes(), err
}
