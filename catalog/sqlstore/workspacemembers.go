package sqlstore

import (
	"context"
	"errors"

	"github.com/lakewarden/lakewarden/catalog"
)

const selectWorkspaceMember = `SELECT m.workspace_id, m.user_id, u.email, u.display_name, m.role, m.created_at, m.updated_at
	FROM workspace_members m JOIN users u ON u.id = m.user_id`

func scanWorkspaceMember(r row) (m catalog.WorkspaceMember, err error) {
	err = r.Scan(&m.Workspace, &m.User, &m.Email, &m.DisplayName, &m.Role, timeAt(&m.CreatedAt), timeAt(&m.UpdatedAt))
	return m, err
}

func setWorkspaceMember(ctx context.Context, tx session, id catalog.WorkspaceID, user catalog.UserID, role catalog.Role, now int64) error {
	_, err := tx.exec(ctx, `INSERT INTO workspace_members (workspace_id, user_id, role, created_at, updated_at)
		VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (workspace_id, user_id) DO UPDATE SET role = excluded.role, updated_at = excluded.updated_at`,
		id, user, role, now, now)
	return err
}

func workspaceMember(ctx context.Context, s session, id catalog.WorkspaceID, user catalog.UserID) (catalog.WorkspaceMember, error) {
	return one(ctx, s, scanWorkspaceMember,
		selectWorkspaceMember+" WHERE m.workspace_id = ? AND m.user_id = ?", id, user)
}

// ownMembers checks that a workspace is not the default one, whose members are those of
// the organisation.
func ownMembers(ctx context.Context, tx session, org catalog.OrgID, id catalog.WorkspaceID) error {
	w, err := workspace(ctx, tx, org, id)
	if err == nil && w.IsDefault {
		err = catalog.ErrDefaultWorkspace
	}
	return err
}

// SetWorkspaceMember implements [catalog.Workspaces].
func (s *Store) SetWorkspaceMember(ctx context.Context, org catalog.OrgID, id catalog.WorkspaceID, user catalog.UserID,
	role catalog.Role) (set catalog.WorkspaceMember, err error) {
	if err := catalog.ValidateRole("role", role); err != nil {
		return set, err
	}
	err = s.db.change(ctx, func(tx session) error {
		if err := ownMembers(ctx, tx, org, id); err != nil {
			return err
		}
		if _, err := membership(ctx, tx, org, user); err != nil {
			return err
		}
		set, err = workspaceMember(ctx, tx, id, user)
		switch {
		case err == nil && set.Role == role:
			return errUnchanged
		case err != nil && !errors.Is(err, catalog.ErrNotFound):
			return err
		}
		if err := setWorkspaceMember(ctx, tx, id, user, role, micros(s.db.clock())); err != nil {
			return err
		}
		set, err = workspaceMember(ctx, tx, id, user)
		return err
	})
	return set, err
}

// RemoveWorkspaceMember implements [catalog.Workspaces].
func (s *Store) RemoveWorkspaceMember(ctx context.Context, org catalog.OrgID, id catalog.WorkspaceID, user catalog.UserID) error {
	return s.db.change(ctx, func(tx session) error {
		if err := ownMembers(ctx, tx, org, id); err != nil {
			return err
		}
		n, err := tx.exec(ctx, "DELETE FROM workspace_members WHERE workspace_id = ? AND user_id = ?", id, user)
		if err == nil && n == 0 {
			err = catalog.ErrNotFound
		}
		return err
	})
}

// ListWorkspaceMembers implements [catalog.Workspaces].
func (s *Store) ListWorkspaceMembers(ctx context.Context, org catalog.OrgID, id catalog.WorkspaceID,
	page catalog.Page) (catalog.List[catalog.WorkspaceMember], error) {
	w, err := workspace(ctx, s.db.read(), org, id)
	if err != nil {
		return catalog.List[catalog.WorkspaceMember]{}, err
	}
	if w.IsDefault {
		members, err := s.ListMembers(ctx, org, page)
		everyone := catalog.List[catalog.WorkspaceMember]{Items: []catalog.WorkspaceMember{}, Next: members.Next}
		for _, m := range members.Items {
			everyone.Items = append(everyone.Items, catalog.WorkspaceMember{
				Workspace: id, User: m.User, Email: m.Email, DisplayName: m.DisplayName,
				Role: m.Role, CreatedAt: m.CreatedAt, UpdatedAt: m.UpdatedAt,
			})
		}
		return everyone, err
	}
	order := paging[catalog.WorkspaceMember]{
		list: "members", key: "u.email", id: "m.user_id",
		position: func(m catalog.WorkspaceMember) (string, string) { return m.Email, string(m.User) },
	}
	var conditions where
	conditions.and("m.workspace_id = ?", id)
	return order.fetch(ctx, s.db.read(), page, scanWorkspaceMember, selectWorkspaceMember, conditions)
}

// WorkspaceRole implements [catalog.Workspaces].
func (s *Store) WorkspaceRole(ctx context.Context, org catalog.OrgID, id catalog.WorkspaceID, user catalog.UserID) (catalog.Role, error) {
	return workspaceRole(ctx, s.db.read(), org, id, user)
}

func workspaceRole(ctx context.Context, s session, org catalog.OrgID, id catalog.WorkspaceID, user catalog.UserID) (catalog.Role, error) {
	return one(ctx, s, value[catalog.Role], `SELECT CASE WHEN w.is_default THEN m.role ELSE wm.role END
		FROM workspaces w
		JOIN memberships m ON m.org_id = w.org_id AND m.user_id = ?
		LEFT JOIN workspace_members wm ON wm.workspace_id = w.id AND wm.user_id = m.user_id
		WHERE w.org_id = ? AND w.id = ? AND (w.is_default OR wm.role IS NOT NULL) AND `+liveOrg("w.org_id"), user, org, id)
}
