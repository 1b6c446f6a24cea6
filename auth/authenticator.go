package auth

import (
	"context"
	"strings"
)

// Authenticator turns a bearer token into a principal.
//
// Errors wrap [ErrUnauthenticated] when the token is refused, [ErrUnavailable]
// when it could not be checked, or are ctx's. No error holds the token or a
// part of it. Implementations are safe for concurrent use and have no effect
// that a second call would repeat.
type Authenticator interface {
	Authenticate(ctx context.Context, bearer string) (Principal, error)
}

// Split is an Authenticator that sends API keys one way and everything else
// the other, by the prefix that only API keys have.
type Split struct {
	// KeyPrefix is what every API key starts with.
	KeyPrefix string
	// Keys verifies API keys.
	Keys Authenticator
	// Tokens verifies everything else; nil refuses it.
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
