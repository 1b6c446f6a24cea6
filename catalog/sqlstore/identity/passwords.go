package identity

import (
	"context"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/sqldb"
)

// SetPassword implements [catalog.Passwords].
func (s *Store) SetPassword(ctx context.Context, user catalog.UserID, hash string) error {
	if err := catalog.ValidatePasswordHash(hash); err != nil {
		return err
	}
	return s.db.Transact(ctx, func(tx sqldb.Session) error {
		stored, err := tx.Exec(ctx, `INSERT INTO passwords (user_id, hash, changed_at)
			SELECT u.id, ?, ? FROM users u WHERE u.id = ? AND u.kind = 'person' AND u.deleted_at IS NULL
			ON CONFLICT (user_id) DO UPDATE SET hash = excluded.hash, changed_at = excluded.changed_at`,
			hash, sqldb.Micros(s.db.Clock()), user)
		if err == nil && stored == 0 {
			err = catalog.ErrNotFound
		}
		return err
	})
}

// ReplacePassword implements [catalog.Passwords].
func (s *Store) ReplacePassword(ctx context.Context, user catalog.UserID, former, hash string) error {
	if err := catalog.ValidatePasswordHash(hash); err != nil {
		return err
	}
	return s.db.Transact(ctx, func(tx sqldb.Session) error {
		stored, err := tx.Exec(ctx, "UPDATE passwords SET hash = ?, changed_at = ? WHERE user_id = ? AND hash = ?",
			hash, sqldb.Micros(s.db.Clock()), user, former)
		if err == nil && stored == 0 {
			err = catalog.ErrNotFound
		}
		return err
	})
}

// Password implements [catalog.Passwords].
func (s *Store) Password(ctx context.Context, user catalog.UserID) (string, error) {
	return sqldb.One(ctx, s.db.Read(), sqldb.Value[string], "SELECT p.hash FROM passwords p WHERE p.user_id = ?", user)
}
