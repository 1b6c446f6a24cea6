package sqlstore

import (
	"context"
	"errors"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/lifetimes"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/sqldb"
)

const selectWorkspace = `SELECT w.id, w.org_id, w.name, w.is_default, w.version, w.created_at, w.updated_at,
	CASE WHEN w.is_default THEN (SELECT count(*) FROM memberships m WHERE m.org_id = w.org_id)
	ELSE (SELECT count(*) FROM workspace_members wm WHERE wm.workspace_id = w.id) END
	FROM workspaces w`

func scanWorkspace(r sqldb.Row) (w catalog.Workspace, err error) {
	err = r.Scan(&w.ID, &w.Org, &w.Name, &w.IsDefault, &w.Version,
		sqldb.Time(&w.CreatedAt), sqldb.Time(&w.UpdatedAt), &w.MemberCount)
	return w, err
}

func workspace(ctx context.Context, s sqldb.Session, org catalog.OrgID, id catalog.WorkspaceID) (catalog.Workspace, error) {
	return sqldb.One(ctx, s, scanWorkspace,
		selectWorkspace+" WHERE w.org_id = ? AND w.id = ? AND "+sqldb.LiveOrg("w.org_id"), org, id)
}

// CreateWorkspace implements [catalog.Workspaces].
func (s *Store) CreateWorkspace(ctx context.Context, n catalog.NewWorkspace) (created catalog.Workspace, err error) {
	if err := n.Validate(); err != nil {
		return created, err
	}
	if n.ID == "" {
		n.ID = catalog.NewID[catalog.WorkspaceID]()
	}
	now := sqldb.Micros(s.db.Clock())
	err = s.db.Change(ctx, func(tx sqldb.Session) error {
		if _, err := organisation(ctx, tx, n.Org); err != nil {
			return err
		}
		err := tx.Insert(ctx, "name", `INSERT INTO workspaces
			(id, org_id, name, name_key, is_default, version, created_at, updated_at) VALUES (?, ?, ?, ?, ?, 1, ?, ?)`,
			n.ID, n.Org, n.Name, sqldb.NameKey(n.Name), false, now, now)
		if err != nil {
			return err
		}
		if n.Creator != "" {
			if _, err := membership(ctx, tx, n.Org, n.Creator); err != nil {
				return err
			}
			if err := setWorkspaceMember(ctx, tx, n.ID, n.Creator, catalog.RoleAdmin, now); err != nil {
				return err
			}
		}
		created, err = workspace(ctx, tx, n.Org, n.ID)
		return err
	})
	return created, err
}

// Workspace implements [catalog.Workspaces].
func (s *Store) Workspace(ctx context.Context, org catalog.OrgID, id catalog.WorkspaceID) (catalog.Workspace, error) {
	return workspace(ctx, s.db.Read(), org, id)
}

// DefaultWorkspace implements [catalog.Workspaces].
func (s *Store) DefaultWorkspace(ctx context.Context, org catalog.OrgID) (catalog.Workspace, error) {
	return defaultWorkspace(ctx, s.db.Read(), org)
}

func defaultWorkspace(ctx context.Context, s sqldb.Session, org catalog.OrgID) (catalog.Workspace, error) {
	return sqldb.One(ctx, s, scanWorkspace,
		selectWorkspace+" WHERE w.org_id = ? AND w.is_default AND "+sqldb.LiveOrg("w.org_id"), org)
}

// ListWorkspaces implements [catalog.Workspaces].
func (s *Store) ListWorkspaces(ctx context.Context, org catalog.OrgID, filter catalog.WorkspaceFilter,
	page catalog.Page) (catalog.List[catalog.Workspace], error) {
	order := sqldb.Paging[catalog.Workspace]{
		List: "workspaces", Key: "w.created_at", ID: "w.id", Number: true,
		Position: func(w catalog.Workspace) (string, string) { return sqldb.TimeKey(w.CreatedAt), string(w.ID) },
	}
	var w sqldb.Where
	w.And("w.org_id = ? AND "+sqldb.LiveOrg("w.org_id"), org)
	if filter.Member != "" {
		w.And("EXISTS (SELECT 1 FROM memberships m WHERE m.org_id = w.org_id AND m.user_id = ?)", filter.Member)
		w.And("(w.is_default OR w.id IN (SELECT wm.workspace_id FROM workspace_members wm WHERE wm.user_id = ?))", filter.Member)
	}
	return order.Fetch(ctx, s.db.Read(), page, scanWorkspace, selectWorkspace, w)
}

// UpdateWorkspace implements [catalog.Workspaces].
func (s *Store) UpdateWorkspace(ctx context.Context, org catalog.OrgID, id catalog.WorkspaceID, expectedVersion int64,
	change catalog.WorkspaceChange) (updated catalog.Workspace, err error) {
	if err := change.Validate(); err != nil {
		return updated, err
	}
	err = s.db.Change(ctx, func(tx sqldb.Session) error {
		w, err := workspace(ctx, tx, org, id)
		if err != nil {
			return err
		}
		if err := sqldb.Compare(expectedVersion, w.Version); err != nil {
			return err
		}
		if change.Name != nil {
			w.Name = *change.Name
		}
		n, err := tx.Exec(ctx, `UPDATE workspaces SET name = ?, name_key = ?, version = version + 1, updated_at = ?
			WHERE id = ? AND version = ?`, w.Name, sqldb.NameKey(w.Name), sqldb.Micros(s.db.Clock()), id, w.Version)
		switch {
		case errors.Is(err, sqldb.ErrUnique):
			return &catalog.ExistsError{Field: "name"}
		case err != nil:
			return err
		}
		if err := sqldb.Replaced(n, w.Version); err != nil {
			return err
		}
		updated, err = workspace(ctx, tx, org, id)
		return err
	})
	return updated, err
}

// DeleteWorkspace implements [catalog.Workspaces].
func (s *Store) DeleteWorkspace(ctx context.Context, org catalog.OrgID, id catalog.WorkspaceID, expectedVersion int64) error {
	return s.db.Change(ctx, func(tx sqldb.Session) error {
		w, err := workspace(ctx, tx, org, id)
		if err != nil {
			return err
		}
		if err := sqldb.Compare(expectedVersion, w.Version); err != nil {
			return err
		}
		if w.IsDefault {
			return catalog.ErrDefaultWorkspace
		}
		configs, err := sqldb.One(ctx, tx, sqldb.Value[int], "SELECT count(*) FROM storage_configs WHERE workspace_id = ?", id)
		if err != nil {
			return err
		}
		awaited, err := s.awaitedByUndo(ctx, tx, id)
		if err != nil {
			return err
		}
		if configs > 0 || awaited {
			return catalog.ErrWorkspaceInUse
		}
		_, err = tx.Exec(ctx, "UPDATE api_keys SET revoked_at = ? WHERE org_id = ? AND workspace_id = ? AND revoked_at IS NULL",
			sqldb.Micros(s.db.Clock()), org, id)
		if err != nil {
			return err
		}
		if err := lifetimes.End(ctx, tx, s.db.Clock(), org); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, "DELETE FROM workspaces WHERE id = ?", id)
		return err
	})
}
