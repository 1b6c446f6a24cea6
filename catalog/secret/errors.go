package secret

import "errors"

// Errors of this package.
var (
	// ErrSealed is returned by Open for a ciphertext that no key of the key file opens
	// under this binding: it was sealed with another key file, belongs to another
	// binding, or is damaged. A retry does not help. It becomes 500, and the operator
	// must check the key file.
	ErrSealed = errors.New("secret does not open with this key file")
	// ErrKeyFile is returned at start if the key file cannot be created, read or
	// understood, or if other users may read it.
	ErrKeyFile = errors.New("key file not usable")
	// ErrUnavailable is returned if the service that encrypts the key file does not
	// answer or refuses. At run time it is returned once the keys were not confirmed for
	// [OpenedFor]. It becomes 503. A retry helps once the service answers.
	ErrUnavailable = errors.New("key service unavailable")
	// ErrUnreadable is returned by a reseal that found secrets that no key opens.
	ErrUnreadable = errors.New("secrets open with no key of the key file")
)
