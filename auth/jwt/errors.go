package jwt

import (
	"errors"
	"fmt"

	"github.com/lakewarden/lakewarden/auth"
)

// ErrConfig is returned at start by [New] and the key set constructors if an issuer or
// a key set is configured wrongly. It is never returned for a request.
var ErrConfig = errors.New("invalid token issuer configuration")

// refuse returns a refusal with a reason for the log. The reason must not contain a
// part of the token.
func refuse(reason string) error {
	return fmt.Errorf("%w: token: %s", auth.ErrUnauthenticated, reason)
}
