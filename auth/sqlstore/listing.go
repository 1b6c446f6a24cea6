package sqlstore

import (
	"context"

	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/auth/session"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/sqldb"
)

const selectListed = "SELECT COALESCE(c.name, o.name, ''), " + sessionColumns + ` FROM token_sessions t
	LEFT JOIN oauth_clients c ON c.id = t.client_id LEFT JOIN open_clients o ON o.id = t.client_id`

func scanListed(r sqldb.Row) (l session.Listed, err error) {
	l.Session, err = scanSessionAnd(r, &l.ClientName)
	return l, err
}

// ListSessions lists the live sessions of a user, oldest first: those that are limited to an
// organisation, or all of them if org is [uuid.Nil].
func (s *Store) ListSessions(ctx context.Context, user, org uuid.UUID, page catalog.Page) (catalog.List[session.Listed], error) {
	var w sqldb.Where
	w.And("t.user_id = ? AND t.revoked_at IS NULL AND t.expires_at > ?", user.String(), sqldb.Micros(s.db.Clock()))
	if org != uuid.Nil {
		w.And("t.org_id = ?", org.String())
	}
	order := sqldb.Paging[session.Listed]{
		List: "sessions", Key: "t.created_at", ID: "t.id", Number: true,
		Position: func(l session.Listed) (string, string) { return sqldb.TimeKey(l.CreatedAt), l.ID.String() },
	}
	return order.Fetch(ctx, s.db.Read(), page, scanListed, selectListed, w)
}
