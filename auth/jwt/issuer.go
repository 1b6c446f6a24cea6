package jwt

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/auth"
)

// Audience is the aud that tokens for this service carry.
const Audience = "lakewarden"

// The signature algorithms an issuer may be configured with.
const (
	RS256 = string(jose.RS256)
	ES256 = string(jose.ES256)
	EdDSA = string(jose.EdDSA)
)

// KeySource finds the public keys of one issuer; [KeySet] is the one we have.
type KeySource interface {
	// Key returns the key with that id. Errors wrap [auth.ErrUnauthenticated]
	// when there is none and [auth.ErrUnavailable] when that cannot be known.
	Key(ctx context.Context, kid string) (jose.JSONWebKey, error)
}

// Issuer is a party whose tokens are accepted.
type Issuer struct {
	// URL is the exact iss claim.
	URL string
	// Audience is the exact value aud must hold; default [Audience].
	Audience string
	// Algorithms are those its keys may sign with: any of RS256, ES256, EdDSA.
	// At least one.
	Algorithms []string
	// Keys holds its public keys.
	Keys KeySource
	// EmailSubjects marks a foreign issuer, which does not know our user ids: the
	// member is found by the email claim, which email_verified must confirm, and
	// sub only has to be there.
	EmailSubjects bool
	// Organisations limits the organisations it can speak for; empty means any.
	// With exactly one, a token without an org claim means that one.
	Organisations []uuid.UUID
	// DefaultScopes is what a token without a scope claim carries; the zero value
	// is nothing.
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

// organisation decides which organisation the token acts in.
func (i *Issuer) organisation(claim *string) (uuid.UUID, error) {
	if claim == nil {
		if len(i.Organisations) == 1 {
			return i.Organisations[0], nil
		}
		return uuid.Nil, refuse("org missing")
	}
	org, ok := parseID(*claim)
	if !ok {
		return uuid.Nil, refuse("org is no id")
	}
	if len(i.Organisations) > 0 && !slices.Contains(i.Organisations, org) {
		return uuid.Nil, refuse("issuer does not speak for the organisation")
	}
	return org, nil
}
