package identity

import (
	"context"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/sqldb"
)

var selectServiceAccount = `SELECT c.user_id, c.org_id, c.name, m.role, c.id, c.scopes, c.created_by, c.version, c.created_at,
	c.updated_at, ` + clientEnds + ` FROM oauth_clients c JOIN memberships m ON m.org_id = c.org_id AND m.user_id = c.user_id`

func scanServiceAccount(r sqldb.Row) (a catalog.ServiceAccount, err error) {
	err = r.Scan(&a.ID, &a.Org, &a.Name, &a.Role, &a.Client, sqldb.JSON(&a.Scopes), &a.CreatedBy, &a.Version,
		sqldb.Time(&a.CreatedAt), sqldb.Time(&a.UpdatedAt), sqldb.Time(&a.EndsAt), sqldb.Time(&a.SecretEndsAt))
	return a, err
}

func serviceAccount(ctx context.Context, s sqldb.Session, org catalog.OrgID, id catalog.UserID) (catalog.ServiceAccount, error) {
	return sqldb.One(ctx, s, scanServiceAccount,
		selectServiceAccount+" WHERE c.org_id = ? AND c.user_id = ? AND "+sqldb.LiveOrg("c.org_id"), org, id)
}

// CreateServiceAccount implements [catalog.ServiceAccounts].
func (s *Store) CreateServiceAccount(ctx context.Context, n catalog.NewServiceAccount) (created catalog.ServiceAccount, err error) {
	if err := n.Validate(); err != nil {
		return created, err
	}
	user := catalog.NewUser{Kind: catalog.UserService, DisplayName: n.Name}.Complete()
	at := s.db.Clock()
	now := sqldb.Micros(at)
	err = s.db.Change(ctx, func(tx sqldb.Session) error {
		if err := sqldb.RequireOrg(ctx, tx, n.Org); err != nil {
			return err
		}
		if err := tx.Insert(ctx, "email", `INSERT INTO users (id, kind, email, display_name, version, created_at, updated_at)
			VALUES (?, ?, ?, ?, 1, ?, ?)`, user.ID, user.Kind, user.Email, user.DisplayName, now, now); err != nil {
			return err
		}
		if err := tx.Insert(ctx, "user_id", `INSERT INTO memberships (org_id, user_id, role, attributes, created_at, updated_at)
			VALUES (?, ?, ?, '{}', ?, ?)`, n.Org, user.ID, n.Role, now, now); err != nil {
			return err
		}
		if err := insertClient(ctx, tx, catalog.Client{ID: catalog.NewID[catalog.ClientID](), Org: n.Org, Name: n.Name,
			Kind: catalog.ClientService, SecretHash: n.SecretHash, Scopes: n.Scopes, User: user.ID, CreatedBy: n.By},
			n.Maker, at); err != nil {
			return err
		}
		created, err = serviceAccount(ctx, tx, n.Org, user.ID)
		return err
	})
	return created, err
}

// ServiceAccount implements [catalog.ServiceAccounts].
func (s *Store) ServiceAccount(ctx context.Context, org catalog.OrgID, id catalog.UserID) (catalog.ServiceAccount, error) {
	return serviceAccount(ctx, s.db.Read(), org, id)
}

// ListServiceAccounts implements [catalog.ServiceAccounts].
func (s *Store) ListServiceAccounts(ctx context.Context, org catalog.OrgID,
	page catalog.Page) (catalog.List[catalog.ServiceAccount], error) {
	var w sqldb.Where
	w.And("c.org_id = ? AND "+sqldb.LiveOrg("c.org_id"), org)
	order := sqldb.Paging[catalog.ServiceAccount]{
		List: "service_accounts", Key: "c.created_at", ID: "c.user_id", Number: true,
		Position: func(a catalog.ServiceAccount) (string, string) { return sqldb.TimeKey(a.CreatedAt), string(a.ID) },
	}
	return order.Fetch(ctx, s.db.Read(), page, scanServiceAccount, selectServiceAccount, w)
}

// UpdateServiceAccount implements [catalog.ServiceAccounts].
func (s *Store) UpdateServiceAccount(ctx context.Context, org catalog.OrgID, id catalog.UserID, expectedVersion int64,
	change catalog.ServiceAccountChange) (updated catalog.ServiceAccount, err error) {
	if err := change.Validate(); err != nil {
		return updated, err
	}
	err = s.db.Change(ctx, func(tx sqldb.Session) error {
		if updated, err = serviceAccount(ctx, tx, org, id); err != nil {
			return err
		}
		c, err := client(ctx, tx, org, updated.Client, catalog.ClientService)
		if err != nil {
			return err
		}
		own := catalog.ClientChange{Name: change.Name, Scopes: change.Scopes, Maker: change.Maker}
		if err := s.changeClient(ctx, tx, c, expectedVersion, own); err != nil {
			return err
		}
		if change.Name != nil {
			if _, err := tx.Exec(ctx, "UPDATE users SET display_name = ?, version = version + 1, updated_at = ? WHERE id = ?",
				*change.Name, sqldb.Micros(s.db.Clock()), id); err != nil {
				return err
			}
		}
		updated, err = serviceAccount(ctx, tx, org, id)
		return err
	})
	return updated, err
}
