package authz

import (
	"context"
	"slices"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

// CreateWorkspace needs org:update. The creator is the actor or empty.
func (s *Store) CreateWorkspace(ctx context.Context, workspace catalog.NewWorkspace) (none catalog.Workspace, err error) {
	a, err := actorFrom(ctx)
	if err != nil {
		return none, err
	}
	if err := a.in(workspace.Org, auth.ScopeOrgUpdate); err != nil {
		return none, err
	}
	if workspace.Creator != "" {
		if err := a.signs(workspace.Creator); err != nil {
			return none, err
		}
	}
	return s.inner.CreateWorkspace(ctx, workspace)
}

// Workspace is open to the workspace's members, and to administrators.
func (s *Store) Workspace(ctx context.Context, org catalog.OrgID, workspace catalog.WorkspaceID) (catalog.Workspace, error) {
	if err := s.sees(ctx, org, workspace); err != nil {
		return catalog.Workspace{}, err
	}
	return s.inner.Workspace(ctx, org, workspace)
}

// sees checks that the actor is a member of the workspace or may manage it. For others
// the workspace is not found.
func (s *Store) sees(ctx context.Context, org catalog.OrgID, workspace catalog.WorkspaceID) error {
	a, err := actorFrom(ctx)
	if err != nil {
		return err
	}
	if err := a.in(org); err != nil {
		return err
	}
	if a.in(org, auth.ScopeUsersWrite, auth.ScopeOrgUpdate) == nil {
		return nil
	}
	role, err := s.roleIn(ctx, a, workspace)
	if err == nil && role == "" {
		err = catalog.ErrNotFound
	}
	if err != nil {
		return err
	}
	return a.in(org, auth.ScopeOrgRead)
}

// DefaultWorkspace needs org:read or storage:read.
func (s *Store) DefaultWorkspace(ctx context.Context, org catalog.OrgID) (catalog.Workspace, error) {
	if err := inOrg(ctx, org, auth.ScopeOrgRead, auth.ScopeStorageRead, auth.ScopeStorageConfigure); err != nil {
		return catalog.Workspace{}, err
	}
	return s.inner.DefaultWorkspace(ctx, org)
}

// ListWorkspaces needs org:read for the actor's own workspaces, and users:write or
// org:update for all. Without the latter a key limited to some workspaces gets only
// those, so a page can be shorter than requested.
func (s *Store) ListWorkspaces(ctx context.Context, org catalog.OrgID, filter catalog.WorkspaceFilter,
	page catalog.Page) (none catalog.List[catalog.Workspace], err error) {
	a, err := actorFrom(ctx)
	if err != nil {
		return none, err
	}
	if err := a.in(org, auth.ScopeOrgRead, auth.ScopeUsersWrite, auth.ScopeOrgUpdate); err != nil {
		return none, err
	}
	all := a.in(org, auth.ScopeUsersWrite, auth.ScopeOrgUpdate)
	if !a.isUser(filter.Member) && all != nil {
		return none, all
	}
	list, err := s.inner.ListWorkspaces(ctx, org, filter, page)
	if a.viewer.Limited && all != nil {
		list.Items = slices.DeleteFunc(list.Items, func(w catalog.Workspace) bool { return !w.IsDefault && w.ID != a.viewer.Workspace })
	}
	return list, err
}

// manager is an actor with its role and scopes in a workspace.
type manager struct {
	actor
	role   auth.Role
	scopes auth.ScopeSet
}

// manages returns the actor if it has a scope in the workspace itself. Administrators of the
// organisation manage every workspace.
func (s *Store) manages(ctx context.Context, org catalog.OrgID, workspace catalog.WorkspaceID, scope auth.Scope) (m manager, err error) {
	if m.actor, err = actorFrom(ctx); err != nil {
		return m, err
	}
	if err := s.sees(ctx, org, workspace); err != nil || m.system {
		return m, err
	}
	if m.scopes, m.role, err = s.scopesIn(ctx, m.actor, workspace); err != nil {
		return m, err
	}
	return m, holds(m.scopes, []auth.Scope{scope})
}

// UpdateWorkspace needs org:update in the workspace.
func (s *Store) UpdateWorkspace(ctx context.Context, org catalog.OrgID, workspace catalog.WorkspaceID, expectedVersion int64,
	change catalog.WorkspaceChange) (catalog.Workspace, error) {
	if _, err := s.manages(ctx, org, workspace, auth.ScopeOrgUpdate); err != nil {
		return catalog.Workspace{}, err
	}
	return s.inner.UpdateWorkspace(ctx, org, workspace, expectedVersion, change)
}

// DeleteWorkspace needs org:update in the workspace.
func (s *Store) DeleteWorkspace(ctx context.Context, org catalog.OrgID, workspace catalog.WorkspaceID, expectedVersion int64) error {
	if _, err := s.manages(ctx, org, workspace, auth.ScopeOrgUpdate); err != nil {
		return err
	}
	return s.inner.DeleteWorkspace(ctx, org, workspace, expectedVersion)
}

// SetWorkspaceMember needs users:write in the workspace. Neither the new nor the current
// role may exceed the actor's, and the member gets no scopes that the actor's credential
// lacks.
func (s *Store) SetWorkspaceMember(ctx context.Context, org catalog.OrgID, workspace catalog.WorkspaceID, user catalog.UserID,
	role catalog.Role) (none catalog.WorkspaceMember, err error) {
	m, err := s.manages(ctx, org, workspace, auth.ScopeUsersWrite)
	if err != nil {
		return none, err
	}
	if !m.system {
		before, err := s.inner.WorkspaceRole(ctx, org, workspace, user)
		if err != nil && !isNotFound(err) {
			return none, err
		}
		if err := m.grants(auth.Role(before), m.role); err != nil {
			return none, err
		}
		if err := m.confersOf(m.role, m.scopes, auth.Role(role), auth.Role(before)); err != nil {
			return none, err
		}
	}
	return s.inner.SetWorkspaceMember(ctx, org, workspace, user, role)
}

// RemoveWorkspaceMember needs users:write in the workspace.
func (s *Store) RemoveWorkspaceMember(ctx context.Context, org catalog.OrgID, workspace catalog.WorkspaceID, user catalog.UserID) error {
	if _, err := s.manages(ctx, org, workspace, auth.ScopeUsersWrite); err != nil {
		return err
	}
	return s.inner.RemoveWorkspaceMember(ctx, org, workspace, user)
}

// ListWorkspaceMembers is open to the workspace's members, and to
// administrators.
func (s *Store) ListWorkspaceMembers(ctx context.Context, org catalog.OrgID, workspace catalog.WorkspaceID,
	page catalog.Page) (catalog.List[catalog.WorkspaceMember], error) {
	if err := s.sees(ctx, org, workspace); err != nil {
		return catalog.List[catalog.WorkspaceMember]{}, err
	}
	return s.inner.ListWorkspaceMembers(ctx, org, workspace, page)
}

// WorkspaceRole is open to the user itself and to administrators.
func (s *Store) WorkspaceRole(ctx context.Context, org catalog.OrgID, workspace catalog.WorkspaceID, user catalog.UserID) (catalog.Role,
	error) {
	a, err := actorFrom(ctx)
	if err != nil {
		return "", err
	}
	if err := a.in(org); err != nil {
		return "", err
	}
	if !a.isUser(user) {
		if err := a.in(org, auth.ScopeUsersWrite); err != nil {
			return "", err
		}
	}
	return s.inner.WorkspaceRole(ctx, org, workspace, user)
}
