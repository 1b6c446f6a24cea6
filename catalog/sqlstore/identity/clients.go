package identity

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/lifetimes"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/sqldb"
)

// clientEnds selects the ends of a client and of its secret.
var clientEnds = lifetimes.EndsColumn(lifetimes.Client, "c.id") + ", " + lifetimes.EndsColumn(lifetimes.ClientSecret, "c.id")

var selectClient = `SELECT c.id, c.org_id, c.name, c.kind, c.secret_hash, c.redirect_uris, c.scopes, c.user_id, c.created_by, c.version,
	c.created_at, c.updated_at, ` + clientEnds + ` FROM oauth_clients c`

func scanClient(r sqldb.Row) (c catalog.Client, err error) {
	err = r.Scan(&c.ID, &c.Org, &c.Name, &c.Kind, &c.SecretHash, sqldb.JSON(&c.RedirectURIs), sqldb.JSON(&c.Scopes), &c.User, &c.CreatedBy,
		&c.Version, sqldb.Time(&c.CreatedAt), sqldb.Time(&c.UpdatedAt), sqldb.Time(&c.EndsAt), sqldb.Time(&c.SecretEndsAt))
	return c, err
}

func client(ctx context.Context, s sqldb.Session, org catalog.OrgID, id catalog.ClientID, kind catalog.ClientKind) (catalog.Client, error) {
	return sqldb.One(ctx, s, scanClient, selectClient+" WHERE c.org_id = ? AND c.id = ? AND c.kind = ? AND "+sqldb.LiveOrg("c.org_id"),
		org, id, kind)
}

// insertClient inserts a client of version 1, which ends with its maker, as its secret does.
func insertClient(ctx context.Context, tx sqldb.Session, c catalog.Client, maker catalog.Maker, at time.Time) error {
	bound, err := lifetimes.Of(ctx, tx, at, maker)
	if err != nil {
		return err
	}
	kinds := []lifetimes.Kind{lifetimes.Client}
	if !c.Public() {
		kinds = append(kinds, lifetimes.ClientSecret)
	}
	for _, kind := range kinds {
		if err := lifetimes.Bind(ctx, tx, kind, string(c.ID), bound); err != nil {
			return err
		}
	}
	now := sqldb.Micros(at)
	uris := c.RedirectURIs
	if uris == nil {
		uris = []string{}
	}
	return tx.Insert(ctx, "id", `INSERT INTO oauth_clients (id, org_id, name, kind, secret_hash, redirect_uris, scopes, user_id, created_by,
		version, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 1, ?, ?)`, c.ID, c.Org, c.Name, c.Kind, c.SecretHash,
		sqldb.JSONText(uris), sqldb.JSONText(catalog.NormaliseScopes(c.Scopes)), c.User, c.CreatedBy, now, now)
}

// CreateClient implements [catalog.Clients]. A client of which nobody has tokens does not
// change what anyone may do, so the epoch is not raised.
func (s *Store) CreateClient(ctx context.Context, n catalog.NewClient) (created catalog.Client, err error) {
	if err := n.Validate(); err != nil {
		return created, err
	}
	id := catalog.NewID[catalog.ClientID]()
	err = s.db.Transact(ctx, func(tx sqldb.Session) error {
		if err := sqldb.RequireOrg(ctx, tx, n.Org); err != nil {
			return err
		}
		err := insertClient(ctx, tx, catalog.Client{ID: id, Org: n.Org, Name: n.Name, Kind: catalog.ClientApplication,
			SecretHash: n.SecretHash, RedirectURIs: n.RedirectURIs, Scopes: n.Scopes, CreatedBy: n.By}, n.Maker, s.db.Clock())
		if err != nil {
			return err
		}
		created, err = client(ctx, tx, n.Org, id, catalog.ClientApplication)
		return err
	})
	return created, err
}

// Client implements [catalog.Clients].
func (s *Store) Client(ctx context.Context, org catalog.OrgID, id catalog.ClientID) (catalog.Client, error) {
	return client(ctx, s.db.Read(), org, id, catalog.ClientApplication)
}

// ClientByID implements [catalog.Clients].
func (s *Store) ClientByID(ctx context.Context, id catalog.ClientID) (catalog.Client, error) {
	found, err := sqldb.One(ctx, s.db.Read(), scanClient, selectClient+" WHERE c.id = ? AND "+sqldb.LiveOrg("c.org_id")+
		" AND (c.user_id = '' OR EXISTS (SELECT 1 FROM memberships m WHERE m.org_id = c.org_id AND m.user_id = c.user_id))", id)
	if errors.Is(err, catalog.ErrNotFound) {
		return openClient(ctx, s.db.Read(), id)
	}
	return found, err
}

// ListClients implements [catalog.Clients].
func (s *Store) ListClients(ctx context.Context, org catalog.OrgID, page catalog.Page) (catalog.List[catalog.Client], error) {
	var w sqldb.Where
	w.And("c.org_id = ? AND c.kind = ? AND "+sqldb.LiveOrg("c.org_id"), org, catalog.ClientApplication)
	order := sqldb.Paging[catalog.Client]{
		List: "clients", Key: "c.created_at", ID: "c.id", Number: true,
		Position: func(c catalog.Client) (string, string) { return sqldb.TimeKey(c.CreatedAt), string(c.ID) },
	}
	return order.Fetch(ctx, s.db.Read(), page, scanClient, selectClient, w)
}

// UpdateClient implements [catalog.Clients].
func (s *Store) UpdateClient(ctx context.Context, org catalog.OrgID, id catalog.ClientID, expectedVersion int64,
	change catalog.ClientChange) (updated catalog.Client, err error) {
	if err := change.Validate(); err != nil {
		return updated, err
	}
	err = s.db.Change(ctx, func(tx sqldb.Session) error {
		if updated, err = client(ctx, tx, org, id, catalog.ClientApplication); err != nil {
			return err
		}
		if err := s.changeClient(ctx, tx, updated, expectedVersion, change); err != nil {
			return err
		}
		updated, err = client(ctx, tx, org, id, catalog.ClientApplication)
		return err
	})
	return updated, err
}

// changeClient changes a client of the same transaction. Its tokens name their scopes, so
// they end when it loses one. The client must end with every key with which its maker ends.
func (s *Store) changeClient(ctx context.Context, tx sqldb.Session, c catalog.Client, expectedVersion int64,
	change catalog.ClientChange) error {
	if err := sqldb.Compare(expectedVersion, c.Version); err != nil {
		return err
	}
	bound, err := lifetimes.Of(ctx, tx, s.db.Clock(), change.Maker)
	if err != nil {
		return err
	}
	if own, err := lifetimes.Find(ctx, tx, lifetimes.Client, string(c.ID)); err != nil {
		return err
	} else if !own.Covers(bound) {
		return &catalog.DeniedError{Reason: "outlives_key"}
	}
	if change.Name != nil {
		c.Name = *change.Name
	}
	if change.RedirectURIs != nil {
		c.RedirectURIs = *change.RedirectURIs
	}
	if change.Scopes != nil {
		scopes := catalog.NormaliseScopes(*change.Scopes)
		if slices.ContainsFunc(c.Scopes, func(scope string) bool { return !slices.Contains(scopes, scope) }) {
			if err := s.endSessions(ctx, tx, c.ID); err != nil {
				return err
			}
		}
		c.Scopes = scopes
	}
	n, err := tx.Exec(ctx, `UPDATE oauth_clients SET name = ?, redirect_uris = ?, scopes = ?, version = version + 1, updated_at = ?
		WHERE id = ? AND version = ?`, c.Name, sqldb.JSONText(c.RedirectURIs), sqldb.JSONText(c.Scopes), sqldb.Micros(s.db.Clock()), c.ID,
		c.Version)
	if err != nil {
		return err
	}
	return sqldb.Replaced(n, c.Version)
}

// endSessions revokes the sessions of a client.
func (s *Store) endSessions(ctx context.Context, tx sqldb.Session, id catalog.ClientID) error {
	_, err := tx.Exec(ctx, "UPDATE token_sessions SET revoked_at = ? WHERE client_id = ? AND revoked_at IS NULL",
		sqldb.Micros(s.db.Clock()), id)
	return err
}

// ReplaceClientSecret implements [catalog.Clients].
func (s *Store) ReplaceClientSecret(ctx context.Context, org catalog.OrgID, id catalog.ClientID, hash []byte,
	grace time.Duration, maker catalog.Maker) error {
	if len(hash) != 32 {
		return catalog.FieldErrors{{Field: "secret_hash", Message: "must be a SHA-256"}}
	}
	return s.db.Change(ctx, func(tx sqldb.Session) error {
		c, err := sqldb.One(ctx, tx, scanClient, selectClient+" WHERE c.org_id = ? AND c.id = ? AND "+sqldb.LiveOrg("c.org_id"), org, id)
		switch {
		case err != nil:
			return err
		case c.Public():
			return catalog.FieldErrors{{Field: "public", Message: "must be false: a public client has no secret"}}
		case !c.EndsAt.IsZero() && !s.db.Clock().Before(c.EndsAt):
			return catalog.ErrRevoked
		}
		bound, err := lifetimes.Of(ctx, tx, s.db.Clock(), maker)
		if err != nil {
			return err
		}
		if err := lifetimes.Forget(ctx, tx, string(id), lifetimes.ClientSecret); err != nil {
			return err
		}
		if err := lifetimes.Bind(ctx, tx, lifetimes.ClientSecret, string(id), bound); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, "UPDATE oauth_clients SET secret_hash = ?, version = version + 1, updated_at = ? WHERE id = ?",
			hash, sqldb.Micros(s.db.Clock()), id)
		if err != nil || grace == 0 {
			return errors.Join(err, s.endSessions(ctx, tx, id))
		}
		ends := sqldb.Micros(s.db.Clock().Add(grace))
		_, err = tx.Exec(ctx, "UPDATE token_sessions SET expires_at = ? WHERE client_id = ? AND expires_at > ?", ends, id, ends)
		return err
	})
}

// DeleteClient implements [catalog.Clients].
func (s *Store) DeleteClient(ctx context.Context, org catalog.OrgID, id catalog.ClientID) error {
	return s.db.Change(ctx, func(tx sqldb.Session) error {
		if _, err := client(ctx, tx, org, id, catalog.ClientApplication); err != nil {
			return err
		}
		return s.removeClient(ctx, tx, id)
	})
}

func (s *Store) removeClient(ctx context.Context, tx sqldb.Session, id catalog.ClientID) error {
	if err := s.endSessions(ctx, tx, id); err != nil {
		return err
	}
	if err := lifetimes.Forget(ctx, tx, string(id), lifetimes.Client, lifetimes.ClientSecret); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, "DELETE FROM oauth_clients WHERE id = ?", id)
	return err
}
