package sqlstore

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/auth/session"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/sqldb"
)

// limits bound what is stored for one user, so that a program that signs in or refreshes
// without end fills neither the database nor its indexes.
type limits struct {
	// sessions is the largest number of sessions of a user with one client. The next one
	// ends the oldest ones and leaves room for further ones, because each end of sessions
	// empties caches.
	sessions, room int
	// grants is the largest number of codes and refresh tokens of a session. It includes used
	// ones, which must be recognised when they are used again. The next one ends the session.
	grants int
}

// defaultLimits allow a program to get a token every second: the sessions that end are
// older than its access tokens. A client that refreshes every quarter of an hour uses
// 2,880 refresh tokens until the first of them expires.
var defaultLimits = limits{sessions: 1000, room: 100, grants: 10_000}

// endingTime is how long it may take to end the oldest sessions.
const endingTime = 10 * time.Second

// unsettled is the age up to which a session may be without a grant because it has just
// begun.
const unsettled = time.Minute

// endOldest ends sessions of a user with a client if there are too many: first those that
// were revoked, then those of which nobody holds a code, a refresh token or a cookie, then
// the oldest. The one with the given id remains.
func (s *Store) endOldest(ctx context.Context, user uuid.UUID, client string, except uuid.UUID) error {
	now := s.db.Clock()
	return s.db.Change(ctx, func(tx sqldb.Session) error {
		stored, err := countSessions(ctx, tx, user, client)
		switch {
		case err != nil:
			return err
		case stored <= s.limits.sessions: // another replica has ended some
			return sqldb.ErrUnchanged
		}
		_, err = tx.Exec(ctx, `DELETE FROM token_sessions WHERE id IN (SELECT t.id FROM token_sessions t
			WHERE t.user_id = ? AND t.client_id = ? AND t.id <> ? ORDER BY CASE WHEN t.revoked_at IS NOT NULL THEN 0
			WHEN t.created_at < ? AND NOT EXISTS (SELECT 1 FROM browser_sessions b WHERE b.session_id = t.id) AND NOT EXISTS
			(SELECT 1 FROM oauth_grants g WHERE g.session_id = t.id AND g.used_at IS NULL AND g.expires_at > ?) THEN 1 ELSE 2 END,
			t.created_at, t.id LIMIT ?)`, user.String(), client, except.String(), sqldb.Micros(now.Add(-unsettled)), sqldb.Micros(now),
			stored-s.limits.sessions+s.limits.room)
		return err
	})
}

func countSessions(ctx context.Context, db sqldb.Session, user uuid.UUID, client string) (int, error) {
	return sqldb.One(ctx, db, sqldb.Value[int], "SELECT count(*) FROM token_sessions WHERE user_id = ? AND client_id = ?",
		user.String(), client)
}

// errTooManyGrants ends the transaction of a grant that its session may not have.
var errTooManyGrants = errors.New("too many grants of a session")

// checkGrants returns errTooManyGrants if a session has more grants than it may have.
func (s *Store) checkGrants(ctx context.Context, tx sqldb.Session, id uuid.UUID) error {
	stored, err := sqldb.One(ctx, tx, sqldb.Value[int], "SELECT count(*) FROM oauth_grants WHERE session_id = ?", id.String())
	if err == nil && stored > s.limits.grants {
		err = errTooManyGrants
	}
	return err
}

// exhausted revokes the session of a refused grant, and returns the error for the caller.
func (s *Store) exhausted(ctx context.Context, id uuid.UUID) error {
	if err := s.RevokeSession(ctx, id); err != nil {
		return err
	}
	return session.ErrNotFound
}
