package jwt

import (
	"errors"
	"fmt"

	"github.com/lakewarden/lakewarden/auth"
)

// ErrConfig: an issuer or a key set is configured wrongly. Returned at start by
// [New] and the key set constructors, never for a request.
var ErrConfig = errors.New("invalid token issuer configuration")

// refuse makes a refusal with a reason for the log. The reason never holds a
// part of the token.
func refuse(reason string) error {
	return fmt.Errorf("%w: token: %s", auth.ErrUnauthenticated, reason)
}
