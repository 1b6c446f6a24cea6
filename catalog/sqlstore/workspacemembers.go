package sqlstore

import (
	"context"
	"errors"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/sqldb"
)

const selectWorkspaceMember = `SELECT m.workspace_id, m.user_id, u.kind, u.email, u.display_name, m.role, m.created_at, m.updated_at
	FROM workspace_members m JOIN users u ON u.id = m.user_id`

func scanWorkspaceMember(r sqldb.Row) (m catalog.WorkspaceMember, err error) {
	err = r.Scan(&m.Workspace, &m.User, &m.Kind, &m.Email, &m.DisplayName, &m.Role, sqldb.Time(&m.CreatedAt), sqldb.Time(&m.UpdatedAt))
	return m, err
}

func setWorkspaceMember(ctx context.Context, tx sqldb.Session, id catalog.WorkspaceID, user catalog.UserID, role catalog.Role,
	now int64) error {
	_, err := tx.Exec(ctx, `INSERT INTO workspace_members (workspace_id, user_id, role, created_at, updated_at)
		VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (workspace_id, user_id) DO UPDATE SET role = excluded.role, updated_at = excluded.updated_at`,
		id, user, role, now, now)
	return err
}

func workspaceMember(ctx context.Context, s sqldb.Session, id catalog.WorkspaceID, user catalog.UserID) (catalog.WorkspaceMember, error) {
	return sqldb.One(ctx, s, scanWorkspaceMember,
		selectWorkspaceMember+" WHERE m.workspace_id = ? AND m.user_id = ?", id, user)
}

// ownMembers checks that a workspace is not the default one, whose members are those of
// the organisation.
func ownMembers(ctx context.Context, tx sqldb.Session, org catalog.OrgID, id catalog.WorkspaceID) error {
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
	err = s.db.Change(ctx, func(tx sqldb.Session) error {
		if err := ownMembers(ctx, tx, org, id); err != nil {
			return err
		}
		if _, err := membership(ctx, tx, org, user); err != nil {
			return err
		}
		set, err = workspaceMember(ctx, tx, id, user)
		switch {
		case err == nil && set.Role == role:
			return sqldb.ErrUnchanged
		case err != nil && !errors.Is(err, catalog.ErrNotFound):
			return err
		}
		if err := setWorkspaceMember(ctx, tx, id, user, role, sqldb.Micros(s.db.Clock())); err != nil {
			return err
		}
		set, err = workspaceMember(ctx, tx, id, user)
		return err
	})
	return set, err
}

// RemoveWorkspaceMember implements [catalog.Workspaces].
func (s *Store) RemoveWorkspaceMember(ctx context.Context, org catalog.OrgID, id catalog.WorkspaceID, user catalog.UserID) error {
	return s.db.Change(ctx, func(tx sqldb.Session) error {
		if err := ownMembers(ctx, tx, org, id); err != nil {
			return err
		}
		n, err := tx.Exec(ctx, "DELETE FROM workspace_members WHERE workspace_id = ? AND user_id = ?", id, user)
		if err == nil && n == 0 {
			err = catalog.ErrNotFound
		}
		return err
	})
}

// ListWorkspaceMembers implements [catalog.Workspaces].
func (s *Store) ListWorkspaceMembers(ctx context.Context, org catalog.OrgID, id catalog.WorkspaceID,
	page catalog.Page) (catalog.List[catalog.WorkspaceMember], error) {
	w, err := workspace(ctx, s.db.Read(), org, id)
	if err != nil {
		return catalog.List[catalog.WorkspaceMember]{}, err
	}
	if w.IsDefault {
		members, err := s.ListMembers(ctx, org, page)
		everyone := catalog.List[catalog.WorkspaceMember]{Items: []catalog.WorkspaceMember{}, Next: members.Next}
		for _, m := range members.Items {
			everyone.Items = append(everyone.Items, catalog.WorkspaceMember{
				Workspace: id, User: m.User, Kind: m.Kind, Email: m.Email, DisplayName: m.DisplayName,
				Role: m.Role, CreatedAt: m.CreatedAt, UpdatedAt: m.UpdatedAt,
			})
		}
		return everyone, err
	}
	order := sqldb.Paging[catalog.WorkspaceMember]{
		List: "members", Key: "u.email", ID: "m.user_id",
		Position: func(m catalog.WorkspaceMember) (string, string) { return m.Email, string(m.User) },
	}
	var conditions sqldb.Where
	conditions.And("m.workspace_id = ?", id)
	return order.Fetch(ctx, s.db.Read(), page, scanWorkspaceMember, selectWorkspaceMember, conditions)
}

// WorkspaceRole implements [catalog.Workspaces].
func (s *Store) WorkspaceRole(ctx context.Context, org catalog.OrgID, id catalog.WorkspaceID,
	user catalog.UserID) (catalog.Role, error) {
	return workspaceRole(ctx, s.db.Read(), org, id, user)
}

func workspaceRole(ctx context.Context, s sqldb.Session, org catalog.OrgID, id catalog.WorkspaceID,
	user catalog.UserID) (catalog.Role, error) {
	return sqldb.One(ctx, s, sqldb.Value[catalog.Role], `SELECT CASE WHEN w.is_default THEN m.role ELSE wm.role END
		FROM workspaces w
		JOIN memberships m ON m.org_id = w.org_id AND m.user_id = ?
		LEFT JOIN workspace_members wm ON wm.workspace_id = w.id AND wm.user_id = m.user_id
		WHERE w.org_id = ? AND w.id = ? AND (w.is_default OR wm.role IS NOT NULL) AND `+sqldb.LiveOrg("w.org_id"), user, org, id)
}
