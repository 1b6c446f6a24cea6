package sqlstore

import (
	"context"
	"errors"

	"github.com/lakewarden/lakewarden/catalog"
)

const selectWorkspace = `SELECT w.id, w.org_id, w.name, w.is_default, w.version, w.created_at, w.updated_at,
	CASE WHEN w.is_default THEN (SELECT count(*) FROM memberships m WHERE m.org_id = w.org_id)
	ELSE (SELECT count(*) FROM workspace_members wm WHERE wm.workspace_id = w.id) END
	FROM workspaces w`

func scanWorkspace(r row) (w catalog.Workspace, err error) {
	err = r.Scan(&w.ID, &w.Org, &w.Name, &w.IsDefault, &w.Version,
		timeAt(&w.CreatedAt), timeAt(&w.UpdatedAt), &w.MemberCount)
	return w, err
}

func workspace(ctx context.Context, s session, org catalog.OrgID, id catalog.WorkspaceID) (catalog.Workspace, error) {
	return one(ctx, s, scanWorkspace,
		selectWorkspace+" WHERE w.org_id = ? AND w.id = ? AND "+liveOrg("w.org_id"), org, id)
}

// CreateWorkspace implements [catalog.Workspaces].
func (s *Store) CreateWorkspace(ctx context.Context, n catalog.NewWorkspace) (created catalog.Workspace, err error) {
	if err := n.Validate(); err != nil {
		return created, err
	}
	if n.ID == "" {
		n.ID = catalog.NewID[catalog.WorkspaceID]()
	}
	now := micros(s.db.clock())
	err = s.db.change(ctx, func(tx session) error {
		if _, err := organisation(ctx, tx, n.Org); err != nil {
			return err
		}
		err := tx.insert(ctx, "name", `INSERT INTO workspaces
			(id, org_id, name, name_key, is_default, version, created_at, updated_at) VALUES (?, ?, ?, ?, ?, 1, ?, ?)`,
			n.ID, n.Org, n.Name, nameKey(n.Name), false, now, now)
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
	return workspace(ctx, s.db.read(), org, id)
}

// DefaultWorkspace implements [catalog.Workspaces].
func (s *Store) DefaultWorkspace(ctx context.Context, org catalog.OrgID) (catalog.Workspace, error) {
	return defaultWorkspace(ctx, s.db.read(), org)
}

func defaultWorkspace(ctx context.Context, s session, org catalog.OrgID) (catalog.Workspace, error) {
	return one(ctx, s, scanWorkspace,
		selectWorkspace+" WHERE w.org_id = ? AND w.is_default AND "+liveOrg("w.org_id"), org)
}

// ListWorkspaces implements [catalog.Workspaces].
func (s *Store) ListWorkspaces(ctx context.Context, org catalog.OrgID, filter catalog.WorkspaceFilter,
	page catalog.Page) (catalog.List[catalog.Workspace], error) {
	order := paging[catalog.Workspace]{
		list: "workspaces", key: "w.created_at", id: "w.id", number: true,
		position: func(w catalog.Workspace) (string, string) { return timeKey(w.CreatedAt), string(w.ID) },
	}
	var w where
	w.and("w.org_id = ? AND "+liveOrg("w.org_id"), org)
	if filter.Member != "" {
		w.and("EXISTS (SELECT 1 FROM memberships m WHERE m.org_id = w.org_id AND m.user_id = ?)", filter.Member)
		w.and("(w.is_default OR w.id IN (SELECT wm.workspace_id FROM workspace_members wm WHERE wm.user_id = ?))", filter.Member)
	}
	return order.fetch(ctx, s.db.read(), page, scanWorkspace, selectWorkspace, w)
}

// UpdateWorkspace implements [catalog.Workspaces].
func (s *Store) UpdateWorkspace(ctx context.Context, org catalog.OrgID, id catalog.WorkspaceID, expectedVersion int64,
	change catalog.WorkspaceChange) (updated catalog.Workspace, err error) {
	if err := change.Validate(); err != nil {
		return updated, err
	}
	err = s.db.change(ctx, func(tx session) error {
		w, err := workspace(ctx, tx, org, id)
		if err != nil {
			return err
		}
		if err := compare(expectedVersion, w.Version); err != nil {
			return err
		}
		if change.Name != nil {
			w.Name = *change.Name
		}
		n, err := tx.exec(ctx, `UPDATE workspaces SET name = ?, name_key = ?, version = version + 1, updated_at = ?
			WHERE id = ? AND version = ?`, w.Name, nameKey(w.Name), micros(s.db.clock()), id, w.Version)
		switch {
		case errors.Is(err, errUnique):
			return &catalog.ExistsError{Field: "name"}
		case err != nil:
			return err
		}
		if err := replaced(n, w.Version); err != nil {
			return err
		}
		updated, err = workspace(ctx, tx, org, id)
		return err
	})
	return updated, err
}

// DeleteWorkspace implements [catalog.Workspaces].
func (s *Store) DeleteWorkspace(ctx context.Context, org catalog.OrgID, id catalog.WorkspaceID, expectedVersion int64) error {
	return s.db.change(ctx, func(tx session) error {
		w, err := workspace(ctx, tx, org, id)
		if err != nil {
			return err
		}
		if err := compare(expectedVersion, w.Version); err != nil {
			return err
		}
		if w.IsDefault {
			return catalog.ErrDefaultWorkspace
		}
		configs, err := one(ctx, tx, value[int], "SELECT count(*) FROM storage_configs WHERE workspace_id = ?", id)
		if err != nil {
			return err
		}
		if configs > 0 {
			return catalog.ErrWorkspaceInUse
		}
		_, err = tx.exec(ctx, "UPDATE api_keys SET revoked_at = ? WHERE org_id = ? AND workspace_id = ? AND revoked_at IS NULL",
			micros(s.db.clock()), org, id)
		if err != nil {
			return err
		}
		_, err = tx.exec(ctx, "DELETE FROM workspaces WHERE id = ?", id)
		return err
	})
}
