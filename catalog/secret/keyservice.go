package secret

import (
	"context"
	"time"
)

// The times of keys that a [KeyService] has opened.
const (
	// OpenedFor is how long opened keys are used without a new confirmation.
	OpenedFor = 5 * time.Minute
	// ConfirmEvery is the interval in which [Keyring.Confirm] should be called.
	ConfirmEvery = 15 * time.Second

	// serviceTimeout bounds a request for which the caller has no context.
	serviceTimeout = 10 * time.Second
)

// KeyService encrypts key files with a key that never leaves it: a KMS. It is safe for
// concurrent use. Its errors contain no secret.
type KeyService interface {
	// URI identifies the key.
	URI() string
	Encrypt(ctx context.Context, plain, associated []byte) ([]byte, error)
	Decrypt(ctx context.Context, sealed, associated []byte) ([]byte, error)
}
