package sqlstore

import (
	"context"
	"errors"
	"time"

	"github.com/lakewarden/lakewarden/auth/session"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/sqldb"
)

// Used reports whether a name is marked as used for a purpose.
func (s *Store) Used(ctx context.Context, purpose, name string) (bool, error) {
	scan := func(row sqldb.Row) (used bool, err error) {
		err = row.Scan(&used)
		return used, err
	}
	return sqldb.One(ctx, s.db.Read(), scan, "SELECT EXISTS (SELECT 1 FROM one_time_tokens WHERE hash = ? AND expires_at > ?)",
		session.Hash(purpose+" "+name), sqldb.Micros(s.db.Clock()))
}

// UseOnce marks a name as used for a purpose. It returns [session.ErrReused] if it was used
// within life before.
func (s *Store) UseOnce(ctx context.Context, purpose, name string, life time.Duration) error {
	now := s.db.Clock()
	err := s.db.Transact(ctx, func(tx sqldb.Session) error {
		hash := session.Hash(purpose + " " + name)
		if _, err := tx.Exec(ctx, "DELETE FROM one_time_tokens WHERE hash = ? AND expires_at <= ?", hash, sqldb.Micros(now)); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `INSERT INTO one_time_tokens (hash, purpose, subject, data, created_at, expires_at)
			VALUES (?, ?, '', '{}', ?, ?)`, hash, purpose, sqldb.Micros(now), sqldb.Micros(now.Add(life)))
		return err
	})
	if errors.Is(err, sqldb.ErrUnique) {
		return session.ErrReused
	}
	return err
}
