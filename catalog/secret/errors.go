package secret

import "errors"

// Errors of this package; test with errors.Is.
var (
	// ErrSealed: Open was given a ciphertext that no key of the key file opens
	// under this binding: it was made with another key file, belongs elsewhere,
	// or is damaged. Not retried; becomes 500, the operator looks at the key file.
	ErrSealed = errors.New("secret does not open with this key file")
	// ErrKeyFile: the key file cannot be made, read or understood, or others may
	// read it. At start only.
	ErrKeyFile = errors.New("key file not usable")
)
