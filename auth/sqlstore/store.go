package sqlstore

import (
	"context"
	"errors"

	"github.com/lakewarden/lakewarden/auth/session"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/sqldb"
)

// Store stores sign-ins. It is safe for concurrent use.
type Store struct {
	db     *sqldb.DB
	limits limits
}

var (
	_ session.Sessions      = (*Store)(nil)
	_ session.OneTimeTokens = (*Store)(nil)
	_ session.Browsers      = (*Store)(nil)
	_ session.Grants        = (*Store)(nil)
)

// New returns a store on the database of a catalog, which stays open.
func New(db *sqldb.DB) *Store { return &Store{db, defaultLimits} }

// Expire removes what has expired: tokens, grants, signing keys, and sessions with all
// that belongs to them.
func (s *Store) Expire(ctx context.Context) error {
	now := sqldb.Micros(s.db.Clock())
	return s.db.Transact(ctx, func(tx sqldb.Session) error {
		for _, statement := range []string{
			"DELETE FROM one_time_tokens WHERE expires_at <= ?",
			"DELETE FROM oauth_grants WHERE expires_at <= ?",
			"DELETE FROM token_sessions WHERE expires_at <= ?",
			"DELETE FROM signing_keys WHERE expires_at <= ?",
		} {
			if _, err := tx.Exec(ctx, statement, now); err != nil {
				return err
			}
		}
		_, err := tx.Exec(ctx, `DELETE FROM credential_bindings WHERE kind = 'session'
			AND NOT EXISTS (SELECT 1 FROM token_sessions t WHERE t.id = credential_bindings.id)`)
		return err
	})
}

// missing replaces the catalog's error of a missing row.
func missing(err error) error {
	if errors.Is(err, catalog.ErrNotFound) {
		return session.ErrNotFound
	}
	return err
}
