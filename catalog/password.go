package catalog

import (
	"context"
	"strings"
)

// ValidatePasswordHash returns nil or [FieldErrors]. Only salted hashes are stored, never
// a password.
func ValidatePasswordHash(hash string) error {
	var e FieldErrors
	if !strings.HasPrefix(hash, "$argon2id$") || len(hash) > 500 || !storableText(hash) {
		e.add("hash", "must be an argon2id hash of at most 500 bytes")
	}
	return e.Err()
}

// Passwords stores the password hashes of people.
type Passwords interface {
	// SetPassword stores the hash of a person's password in the PHC string format and
	// replaces an earlier one. Idempotent. It returns [ErrNotFound] for an unknown user and
	// for a service account. It does not raise the epoch: the caller ends the sessions of
	// the user.
	SetPassword(ctx context.Context, user UserID, hash string) error
	// ReplacePassword stores a hash in the place of the former one, of the same password or of
	// the one that it replaces. It returns [ErrNotFound] if the stored hash is another one.
	ReplacePassword(ctx context.Context, user UserID, former, hash string) error
	// Password returns the stored hash. It returns [ErrNotFound] for a user without a
	// password.
	Password(ctx context.Context, user UserID) (string, error)
}
