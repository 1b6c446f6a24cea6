package problem

import (
	"errors"

	"github.com/lakewarden/lakewarden/auth"
)

// ErrNoCredential: the request carries no bearer credential at all, so that no
// error code belongs into the challenge (RFC 6750 §3.1): 401.
var ErrNoCredential error = noCredential{}

type noCredential struct{}

func (noCredential) Error() string { return "no bearer credential" }

// Unwrap makes it one of the refusals of a credential.
func (noCredential) Unwrap() error { return auth.ErrUnauthenticated }

// challenge is the value of WWW-Authenticate for a refused credential.
func challenge(err error) string {
	const realm = `Bearer realm="lakewarden"`
	if errors.Is(err, ErrNoCredential) || errors.Is(err, auth.ErrNoPrincipal) {
		return realm
	}
	return realm + `, error="invalid_token"`
}
