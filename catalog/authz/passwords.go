package authz

import (
	"context"

	"github.com/lakewarden/lakewarden/catalog"
)

// SetPassword is for the system, which has verified that the person may set it.
func (s *Store) SetPassword(ctx context.Context, user catalog.UserID, hash string) error {
	if err := systemOnly(ctx); err != nil {
		return err
	}
	return s.inner.SetPassword(ctx, user, hash)
}

// ReplacePassword is for the system, which has verified the former password.
func (s *Store) ReplacePassword(ctx context.Context, user catalog.UserID, former, hash string) error {
	if err := systemOnly(ctx); err != nil {
		return err
	}
	return s.inner.ReplacePassword(ctx, user, former, hash)
}

// Password is for the system, which compares passwords with the hash.
func (s *Store) Password(ctx context.Context, user catalog.UserID) (string, error) {
	if err := systemOnly(ctx); err != nil {
		return "", err
	}
	return s.inner.Password(ctx, user)
}
