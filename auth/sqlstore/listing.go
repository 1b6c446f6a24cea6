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

// ListSessions lists live sessions, oldest first.
func (s *Store) ListSessions(ctx context.Context, f session.Filter, page catalog.Page) (catalog.List[session.Listed], error) {
	var w sqldb.Where
	w.And("t.user_id = ? AND t.revoked_at IS NULL AND t.expires_at > ?", f.User.String(), sqldb.Micros(s.db.Clock()))
	if f.ID != uuid.Nil {
		w.And("t.id = ?", f.ID.String())
	}
	switch {
	case f.Org == uuid.Nil:
	case f.Domain == "":
		w.And("t.org_id = ?", f.Org.String())
	default:
		w.And("(t.org_id = ? OR t.org_id = '' AND "+sqldb.OwnDomain+")", f.Org.String(), f.Org.String(), f.Org.String(), f.Domain)
	}
	order := sqldb.Paging[session.Listed]{
		List: "sessions", Key: "t.created_at", ID: "t.id", Number: true,
		Position: func(l session.Listed) (string, string) { return sqldb.TimeKey(l.CreatedAt), l.ID.String() },
	}
	return order.Fetch(ctx, s.db.Read(), page, scanListed, selectListed, w)
}
