package jwt

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/auth"
)

// Claims holds what an accepted token says beyond its [auth.Principal].
type Claims struct {
	Issuer, Audience string
	// ID, Client and Session are empty for tokens of issuers that do not set them.
	ID, Client string
	// Scope is the claim as it is, with names that grant nothing here.
	Scope            string
	Session          uuid.UUID
	IssuedAt, Expiry time.Time
}

// Inspect verifies a token like [Authenticator.Authenticate], and also returns its claims.
// Refusals wrap [auth.ErrUnauthenticated].
func (a *Authenticator) Inspect(ctx context.Context, token string) (auth.Principal, Claims, error) {
	if len(token) > maxToken {
		return auth.Principal{}, Claims{}, auth.ErrMalformed
	}
	s, err := a.signed(ctx, token)
	if err != nil {
		return auth.Principal{}, Claims{}, err
	}
	known, err := a.identify(ctx, s)
	if err != nil {
		return auth.Principal{}, Claims{}, err
	}
	c, scope := s.claims, ""
	if c.Scope != nil {
		scope = *c.Scope
	}
	return known.principal, Claims{
		Issuer: s.issuer.URL, Audience: s.issuer.Audience, ID: c.ID, Client: c.Client, Scope: scope, Session: known.principal.SessionID,
		IssuedAt: c.IssuedAt.time(), Expiry: c.Expiry.time(),
	}, nil
}
