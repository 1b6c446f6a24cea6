package admin

import (
	"context"

	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

// Workspaces manages workspaces and their members.
type Workspaces struct{ Store catalog.Store }

// Create creates a workspace with the caller as its first administrator.
func (o Workspaces) Create(ctx context.Context, org catalog.OrgID, name string) (catalog.Workspace, error) {
	a, err := caller.In(ctx, org)
	if err != nil {
		return catalog.Workspace{}, err
	}
	return o.Store.CreateWorkspace(ctx, catalog.NewWorkspace{Org: org, Name: name, Creator: a.User})
}

// List lists the caller's workspaces or, for administrators of users, all.
func (o Workspaces) List(ctx context.Context, org catalog.OrgID, page catalog.Page) (catalog.List[catalog.Workspace], error) {
	a, err := caller.In(ctx, org)
	if err != nil {
		return catalog.List[catalog.Workspace]{}, err
	}
	filter := catalog.WorkspaceFilter{Member: a.User}
	if a.Scopes.Has(auth.ScopeUsersWrite) {
		filter.Member = ""
	}
	return o.Store.ListWorkspaces(ctx, org, filter, page)
}

// Get returns one workspace.
func (o Workspaces) Get(ctx context.Context, org catalog.OrgID, id catalog.WorkspaceID) (catalog.Workspace, error) {
	if _, err := caller.In(ctx, org); err != nil {
		return catalog.Workspace{}, err
	}
	return o.Store.Workspace(ctx, org, id)
}

// Rename changes the name of a workspace.
func (o Workspaces) Rename(ctx context.Context, org catalog.OrgID, id catalog.WorkspaceID, name *string) (catalog.Workspace, error) {
	if _, err := caller.In(ctx, org); err != nil {
		return catalog.Workspace{}, err
	}
	return o.Store.UpdateWorkspace(ctx, org, id, catalog.AnyVersion, catalog.WorkspaceChange{Name: name})
}

// Delete removes a workspace, which must own nothing.
func (o Workspaces) Delete(ctx context.Context, org catalog.OrgID, id catalog.WorkspaceID) error {
	if _, err := caller.In(ctx, org); err != nil {
		return err
	}
	return o.Store.DeleteWorkspace(ctx, org, id, catalog.AnyVersion)
}

// Members lists the members of a workspace.
func (o Workspaces) Members(
	ctx context.Context, org catalog.OrgID, id catalog.WorkspaceID, page catalog.Page,
) (catalog.List[catalog.WorkspaceMember], error) {
	if _, err := caller.In(ctx, org); err != nil {
		return catalog.List[catalog.WorkspaceMember]{}, err
	}
	return o.Store.ListWorkspaceMembers(ctx, org, id, page)
}

// SetMember adds a member of the organisation to a workspace, or changes its role.
func (o Workspaces) SetMember(
	ctx context.Context, org catalog.OrgID, id catalog.WorkspaceID, user catalog.UserID, role catalog.Role,
) error {
	if _, err := caller.In(ctx, org); err != nil {
		return err
	}
	_, err := o.Store.SetWorkspaceMember(ctx, org, id, user, role)
	return err
}

// RemoveMember removes a member from a workspace.
func (o Workspaces) RemoveMember(ctx context.Context, org catalog.OrgID, id catalog.WorkspaceID, user catalog.UserID) error {
	if _, err := caller.In(ctx, org); err != nil {
		return err
	}
	return o.Store.RemoveWorkspaceMember(ctx, org, id, user)
}
