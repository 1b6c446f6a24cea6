package problem

import (
	"errors"

	"github.com/lakewarden/lakewarden/auth"
)

// ErrNoCredential is returned for a request without a bearer credential. The challenge
// then has no error code (RFC 6750 §3.1): 401.
var ErrNoCredential error = noCredential{}

type noCredential struct{}

func (noCredential) Error() string { return "no bearer credential" }

// Unwrap returns auth.ErrUnauthenticated.
func (noCredential) Unwrap() error { return auth.ErrUnauthenticated }

// challenge returns the value of WWW-Authenticate for a refused credential.
func challenge(err error) string {
	const realm = `Bearer realm="lakewarden"`
	if errors.Is(err, ErrNoCredential) || errors.Is(err, auth.ErrNoPrincipal) {
		return realm
	}
	return realm + `, error="invalid_token"`
}
