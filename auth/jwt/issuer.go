package jwt

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/auth"
)

// Audience is the audience of tokens for this service.
const Audience = "lakewarden"

// The signature algorithms that an issuer may be configured with.
const (
	RS256 = string(jose.RS256)
	ES256 = string(jose.ES256)
	EdDSA = string(jose.EdDSA)
)

// KeySource returns the public keys of one issuer. [KeySet] implements it.
type KeySource interface {
	// Key returns the key with that id. Errors wrap [auth.ErrUnauthenticated] if there
	// is none and [auth.ErrUnavailable] if that is not known. It is called for every
	// token and must be fast.
	Key(ctx context.Context, kid string) (jose.JSONWebKey, error)
}

// Sessions checks sessions. Implementations are safe for concurrent use.
type Sessions interface {
	// Live returns a session, or the zero value if it has ended.
	Live(ctx context.Context, session uuid.UUID) (auth.LiveSession, error)
}

// Issuer is a party whose tokens are accepted.
type Issuer struct {
	// URL is the exact iss claim.
	URL string
	// Audience is the exact value that aud must contain; default [Audience].
	Audience string
	// Algorithms are the algorithms that its keys may sign with: one or more of RS256,
	// ES256, EdDSA.
	Algorithms []string
	// Keys returns its public keys.
	Keys KeySource
	// EmailSubjects marks a foreign issuer, which does not know the user ids of the
	// catalog. A token needs sub, email and a true email_verified: the subject is bound to
	// the member with the address.
	EmailSubjects bool
	// AccessTokensOnly refuses tokens whose typ is not at+jwt. ID tokens are always refused, but among
	// tokens of typ JWT they are recognised only by claims that most of them have.
	AccessTokensOnly bool
	// LongestLife is the longest time for which a token may be valid, from iat, or from now if it has
	// no iat. Zero means any.
	LongestLife time.Duration
	// Sessions, if not nil, has the sessions of its tokens. A token then needs a sid claim
	// with the id of a session that has not ended.
	Sessions Sessions
	// Organisations limits the organisations of its tokens; empty means any. If it
	// holds exactly one, a token without an org claim is for that one.
	Organisations []uuid.UUID
	// Orgless accepts tokens without an org claim as those of people in no organisation.
	// It has no effect on an issuer of e-mail subjects or of one organisation.
	Orgless bool
	// DefaultScopes holds the scopes of a token without a scope claim. The zero value
	// grants nothing.
	DefaultScopes auth.ScopeSet
}

// verify checks the configuration and fills in defaults.
func (i *Issuer) verify() error {
	switch {
	case i.URL == "":
		return fmt.Errorf("%w: issuer has no URL", ErrConfig)
	case i.Keys == nil:
		return fmt.Errorf("%w: issuer %s has no keys", ErrConfig, i.URL)
	case len(i.Algorithms) == 0:
		return fmt.Errorf("%w: issuer %s has no algorithms", ErrConfig, i.URL)
	}
	for _, alg := range i.Algorithms {
		if alg != RS256 && alg != ES256 && alg != EdDSA {
			return fmt.Errorf("%w: issuer %s: algorithm %q is not one of RS256, ES256, EdDSA", ErrConfig, i.URL, alg)
		}
	}
	if i.Audience == "" {
		i.Audience = Audience
	}
	return nil
}

// organisation returns the organisation that the token acts in, or [uuid.Nil] for none.
func (i *Issuer) organisation(claim *string) (uuid.UUID, error) {
	if claim == nil {
		switch {
		case len(i.Organisations) == 1:
			return i.Organisations[0], nil
		case i.Orgless && !i.EmailSubjects && len(i.Organisations) == 0:
			return uuid.Nil, nil
		}
		return uuid.Nil, refuse("org missing")
	}
	org, ok := parseID(*claim)
	if !ok {
		return uuid.Nil, refuse("org is not an id")
	}
	if len(i.Organisations) > 0 && !slices.Contains(i.Organisations, org) {
		return uuid.Nil, refuse("organisation not allowed for the issuer")
	}
	return org, nil
}

// session returns the session that the token belongs to, or zero values if the issuer's
// sessions are not known. It refuses a token whose session has ended, and one for an
// organisation that the session is not for.
func (i *Issuer) session(ctx context.Context, claim *string, org uuid.UUID, now time.Time) (id uuid.UUID, live auth.LiveSession,
	err error) {
	if i.Sessions == nil {
		return uuid.Nil, live, nil
	}
	if claim == nil {
		return uuid.Nil, live, refuse("sid missing")
	}
	id, ok := parseID(*claim)
	if !ok {
		return uuid.Nil, live, refuse("sid is not an id")
	}
	live, err = i.Sessions.Live(ctx, id)
	switch {
	case err != nil:
		err = fmt.Errorf("%w: look up session: %w", auth.ErrUnavailable, err)
	case !now.Before(live.Until):
		err = auth.ErrRevoked
	case live.Org != uuid.Nil && live.Org != org:
		err = refuse("org is not that of the session")
	}
	return id, live, err
}
