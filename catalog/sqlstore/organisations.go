package sqlstore

import (
	"context"
	"errors"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/sqldb"
)

const selectOrganisation = `SELECT o.id, o.name, o.owner_user_id, o.config, o.version, o.created_at, o.updated_at,
	(SELECT count(*) FROM memberships m WHERE m.org_id = o.id)
	FROM organisations o`

func scanOrganisation(r sqldb.Row) (o catalog.Organisation, err error) {
	err = r.Scan(&o.ID, &o.Name, &o.Owner, sqldb.JSON(&o.Config), &o.Version,
		sqldb.Time(&o.CreatedAt), sqldb.Time(&o.UpdatedAt), &o.UserCount)
	return o, err
}

func organisation(ctx context.Context, s sqldb.Session, org catalog.OrgID) (catalog.Organisation, error) {
	return sqldb.One(ctx, s, scanOrganisation, selectOrganisation+" WHERE o.id = ? AND o.deleted_at IS NULL", org)
}

// CreateOrganisation implements [catalog.Organisations].
func (s *Store) CreateOrganisation(ctx context.Context, n catalog.NewOrganisation) (created catalog.Organisation, err error) {
	if err := n.Validate(); err != nil {
		return created, err
	}
	if n.ID == "" {
		n.ID = catalog.NewID[catalog.OrgID]()
	}
	now := sqldb.Micros(s.db.Clock())
	err = s.db.Change(ctx, func(tx sqldb.Session) error {
		if err := mayOwnMore(ctx, tx, n.Owner, n.MaxOwned); err != nil {
			return err
		}
		err := tx.Insert(ctx, "id", `INSERT INTO organisations
			(id, name, owner_user_id, config, version, created_at, updated_at) VALUES (?, ?, ?, ?, 1, ?, ?)`,
			n.ID, n.Name, n.Owner, sqldb.JSONText(n.Config), now, now)
		if err != nil {
			return err
		}
		err = tx.Insert(ctx, "id", `INSERT INTO workspaces
			(id, org_id, name, name_key, is_default, version, created_at, updated_at) VALUES (?, ?, ?, ?, ?, 1, ?, ?)`,
			catalog.NewID[catalog.WorkspaceID](), n.ID, catalog.DefaultWorkspaceName,
			sqldb.NameKey(catalog.DefaultWorkspaceName), true, now, now)
		if err != nil {
			return err
		}
		if err := addMember(ctx, tx, n.ID, n.Owner, catalog.RoleAdmin, now); err != nil {
			return err
		}
		created, err = organisation(ctx, tx, n.ID)
		return err
	})
	return created, err
}

// mayOwnMore returns [catalog.ErrTooManyOrganisations] if a user owns limit organisations;
// 0 means any number.
func mayOwnMore(ctx context.Context, tx sqldb.Session, user catalog.UserID, limit int) error {
	owned, err := sqldb.One(ctx, tx, sqldb.Value[int], "SELECT count(*) FROM organisations WHERE owner_user_id = ?", user)
	if err == nil && limit > 0 && owned >= limit {
		err = catalog.ErrTooManyOrganisations
	}
	return err
}

// Organisation implements [catalog.Organisations].
func (s *Store) Organisation(ctx context.Context, org catalog.OrgID) (catalog.Organisation, error) {
	return organisation(ctx, s.db.Read(), org)
}

// ListOrganisations implements [catalog.Organisations].
func (s *Store) ListOrganisations(ctx context.Context, page catalog.Page) (catalog.List[catalog.Organisation], error) {
	order := sqldb.Paging[catalog.Organisation]{
		List: "organisations", Key: "o.created_at", ID: "o.id", Number: true,
		Position: func(o catalog.Organisation) (string, string) { return sqldb.TimeKey(o.CreatedAt), string(o.ID) },
	}
	var w sqldb.Where
	w.And("o.deleted_at IS NULL")
	return order.Fetch(ctx, s.db.Read(), page, scanOrganisation, selectOrganisation, w)
}

// UpdateOrganisation implements [catalog.Organisations].
func (s *Store) UpdateOrganisation(ctx context.Context, org catalog.OrgID, expectedVersion int64,
	change catalog.OrganisationChange) (updated catalog.Organisation, err error) {
	if err := change.Validate(); err != nil {
		return updated, err
	}
	err = s.db.Change(ctx, func(tx sqldb.Session) error {
		o, err := organisation(ctx, tx, org)
		if err != nil {
			return err
		}
		if err := sqldb.Compare(expectedVersion, o.Version); err != nil {
			return err
		}
		if change.Name != nil {
			o.Name = *change.Name
		}
		if change.Config != nil {
			o.Config = *change.Config
		}
		if change.Owner != nil {
			received := *change.Owner != o.Owner
			o.Owner = *change.Owner
			m, err := membership(ctx, tx, org, o.Owner)
			switch {
			case err != nil && !errors.Is(err, catalog.ErrNotFound):
				return err
			case err != nil || m.Role != catalog.RoleAdmin || m.Kind != catalog.UserPerson:
				return catalog.FieldErrors{{Field: "owner", Message: "must be a person who is an administrator of the organisation"}}
			}
			if received {
				if err := mayOwnMore(ctx, tx, o.Owner, change.MaxOwned); err != nil {
					return err
				}
			}
		}
		n, err := tx.Exec(ctx, `UPDATE organisations SET name = ?, owner_user_id = ?, config = ?,
			version = version + 1, updated_at = ? WHERE id = ? AND version = ?`,
			o.Name, o.Owner, sqldb.JSONText(o.Config), sqldb.Micros(s.db.Clock()), org, o.Version)
		if err != nil {
			return err
		}
		if err := sqldb.Replaced(n, o.Version); err != nil {
			return err
		}
		if err := s.switchSandbox(ctx, tx, o); err != nil {
			return err
		}
		if err := s.endOpenClients(ctx, tx, o); err != nil {
			return err
		}
		updated, err = organisation(ctx, tx, org)
		return err
	})
	return updated, err
}

// endOpenClients ends the sessions of clients that nobody vouches for if the organisation does not
// allow them.
func (s *Store) endOpenClients(ctx context.Context, tx sqldb.Session, o catalog.Organisation) error {
	if o.Config.ClientPolicy() == catalog.ClientsOpen {
		return nil
	}
	_, err := tx.Exec(ctx, `UPDATE token_sessions SET revoked_at = ? WHERE org_id = ? AND revoked_at IS NULL
		AND (client_id LIKE 'https://%' OR client_id IN (SELECT c.id FROM open_clients c))`, sqldb.Micros(s.db.Clock()), o.ID)
	return err
}

// DeleteOrganisation implements [catalog.Organisations].
func (s *Store) DeleteOrganisation(ctx context.Context, org catalog.OrgID, expectedVersion int64) error {
	return s.db.Change(ctx, func(tx sqldb.Session) error {
		o, err := organisation(ctx, tx, org)
		if err != nil {
			return err
		}
		if err := sqldb.Compare(expectedVersion, o.Version); err != nil {
			return err
		}
		now := sqldb.Micros(s.db.Clock())
		n, err := tx.Exec(ctx, `UPDATE organisations SET deleted_at = ?, version = version + 1, updated_at = ?
			WHERE id = ? AND version = ?`, now, now, org, o.Version)
		if err != nil {
			return err
		}
		return sqldb.Replaced(n, o.Version)
	})
}
