package identity

import (
	"context"
	"time"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/sqldb"
)

// maxOpenClients is how many open clients are stored. The next one ends openClientRoom of those that
// nobody uses.
const (
	maxOpenClients = 10_000
	openClientRoom = 500
)

// unusedOpenClient is the condition that no session of a client exists. Sessions that have ended
// remain for their whole life.
const unusedOpenClient = "NOT EXISTS (SELECT 1 FROM token_sessions t WHERE t.client_id = o.id)"

func scanOpenClient(r sqldb.Row) (c catalog.Client, err error) {
	c.Kind, c.Version = catalog.ClientOpen, 1
	err = r.Scan(&c.ID, &c.Name, sqldb.JSON(&c.RedirectURIs), sqldb.JSON(&c.Scopes), sqldb.Time(&c.CreatedAt))
	c.UpdatedAt = c.CreatedAt
	return c, err
}

func openClient(ctx context.Context, s sqldb.Session, id catalog.ClientID) (catalog.Client, error) {
	return sqldb.One(ctx, s, scanOpenClient, "SELECT o.id, o.name, o.redirect_uris, o.scopes, o.created_at FROM open_clients o WHERE o.id = ?",
		id)
}

// CreateOpenClient implements [catalog.OpenClients].
func (s *Store) CreateOpenClient(ctx context.Context, n catalog.NewOpenClient) (created catalog.Client, err error) {
	if err := n.Validate(); err != nil {
		return created, err
	}
	id := catalog.NewID[catalog.ClientID]()
	err = s.db.Transact(ctx, func(tx sqldb.Session) error {
		stored, err := sqldb.One(ctx, tx, sqldb.Value[int], "SELECT count(*) FROM open_clients")
		if err != nil {
			return err
		}
		if stored >= maxOpenClients {
			if _, err := tx.Exec(ctx, "DELETE FROM open_clients WHERE id IN (SELECT o.id FROM open_clients o WHERE "+unusedOpenClient+
				" ORDER BY o.created_at, o.id LIMIT ?)", openClientRoom); err != nil {
				return err
			}
		}
		err = tx.Insert(ctx, "id", "INSERT INTO open_clients (id, name, redirect_uris, scopes, created_at) VALUES (?, ?, ?, ?, ?)",
			id, n.Name, sqldb.JSONText(n.RedirectURIs), sqldb.JSONText(catalog.NormaliseScopes(n.Scopes)), sqldb.Micros(s.db.Clock()))
		if err != nil {
			return err
		}
		created, err = openClient(ctx, tx, id)
		return err
	})
	return created, err
}

// ExpireOpenClients implements [catalog.OpenClients].
func (s *Store) ExpireOpenClients(ctx context.Context, createdBefore time.Time) error {
	return s.db.Transact(ctx, func(tx sqldb.Session) error {
		_, err := tx.Exec(ctx, "DELETE FROM open_clients WHERE id IN (SELECT o.id FROM open_clients o WHERE o.created_at < ? AND "+
			unusedOpenClient+")", sqldb.Micros(createdBefore))
		return err
	})
}
