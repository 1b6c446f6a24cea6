package auth

import (
	"context"
	"strings"
)

// Authenticator turns a bearer token into a principal.
//
// Errors wrap [ErrUnauthenticated] if the token is refused and [ErrUnavailable] if it
// could not be checked, or are the error of ctx. No error contains the token or a part
// of it. Implementations are safe for concurrent use, and a repeated call has no
// further effect.
type Authenticator interface {
	Authenticate(ctx context.Context, bearer string) (Principal, error)
}

// Split is an Authenticator that uses one verifier for API keys, which have a common
// prefix, and another for all other tokens.
type Split struct {
	// KeyPrefix is the prefix of every API key.
	KeyPrefix string
	// Keys verifies API keys.
	Keys Authenticator
	// Tokens verifies all other tokens; nil refuses them.
	Tokens Authenticator
}

var _ Authenticator = Split{}

// Authenticate implements [Authenticator].
func (s Split) Authenticate(ctx context.Context, bearer string) (Principal, error) {
	if strings.HasPrefix(bearer, s.KeyPrefix) {
		return s.Keys.Authenticate(ctx, bearer)
	}
	if s.Tokens == nil {
		return Principal{}, ErrMalformed
	}
	return s.Tokens.Authenticate(ctx, bearer)
}
