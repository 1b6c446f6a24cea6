package jwt

import (
	"context"
	"fmt"
	"slices"

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
	// is none and [auth.ErrUnavailable] if that is not known.
	Key(ctx context.Context, kid string) (jose.JSONWebKey, error)
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
	// catalog. The member is found by the email claim, which email_verified must
	// confirm. sub is required but not used.
	EmailSubjects bool
	// Organisations limits the organisations of its tokens; empty means any. If it
	// holds exactly one, a token without an org claim is for that one.
	Organisations []uuid.UUID
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

// organisation returns the organisation that the token acts in.
func (i *Issuer) organisation(claim *string) (uuid.UUID, error) {
	if claim == nil {
		if len(i.Organisations) == 1 {
			return i.Organisations[0], nil
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
