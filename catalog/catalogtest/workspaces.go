package catalogtest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
)

func workspaces(t *testing.T, w *world) {
	org, owner := w.org()
	other, stranger := w.org()
	base := w.defaultWorkspace(org)

	created, err := w.CreateWorkspace(w.ctx, catalog.NewWorkspace{Org: org, Name: "North", Creator: owner})
	require.NoError(t, err)
	require.False(t, created.IsDefault)
	require.Equal(t, 1, created.MemberCount)
	role, err := w.WorkspaceRole(w.ctx, org, created.ID, owner)
	require.NoError(t, err)
	require.Equal(t, catalog.RoleAdmin, role)

	_, err = w.CreateWorkspace(w.ctx, catalog.NewWorkspace{Org: org, Name: "NORTH"})
	existing(w, err, "name")
	_, err = w.CreateWorkspace(w.ctx, catalog.NewWorkspace{Org: org, Name: "South", Creator: stranger})
	require.ErrorIs(t, err, catalog.ErrNotFound)
	_, err = w.CreateWorkspace(w.ctx, catalog.NewWorkspace{Org: other, Name: "North"})
	require.NoError(t, err, "names are unique in an organisation only")
	_, err = w.CreateWorkspace(w.ctx, catalog.NewWorkspace{Org: org, Name: "a\nb"})
	require.Equal(t, []string{"name"}, fieldsOf(w, err))

	_, err = w.Workspace(w.ctx, other, created.ID)
	require.ErrorIs(t, err, catalog.ErrNotFound)
	_, err = w.UpdateWorkspace(w.ctx, org, created.ID, 1, catalog.WorkspaceChange{Name: ptr(catalog.DefaultWorkspaceName)})
	existing(w, err, "name")
	changed, err := w.UpdateWorkspace(w.ctx, org, created.ID, 1, catalog.WorkspaceChange{Name: ptr("West")})
	require.NoError(t, err)
	require.Equal(t, "West", changed.Name)
	_, err = w.UpdateWorkspace(w.ctx, org, created.ID, 1, catalog.WorkspaceChange{Name: ptr("East")})
	stale(w, err, 2)

	user := w.member(org, catalog.RoleViewer)
	list, err := w.ListWorkspaces(w.ctx, org, catalog.WorkspaceFilter{}, catalog.Page{})
	require.NoError(t, err)
	require.Len(t, list.Items, 2)
	require.Equal(t, base, list.Items[0].ID)
	list, err = w.ListWorkspaces(w.ctx, org, catalog.WorkspaceFilter{Member: user}, catalog.Page{})
	require.NoError(t, err)
	require.Len(t, list.Items, 1)
	require.Equal(t, 2, list.Items[0].MemberCount, "all members of the organisation are in the default one")
	list, err = w.ListWorkspaces(w.ctx, org, catalog.WorkspaceFilter{Member: stranger}, catalog.Page{})
	require.NoError(t, err)
	require.Empty(t, list.Items)

	config := w.config(org, owner, created.ID, "held")
	newKey := w.newKey(org, owner)
	newKey.Workspace = created.ID
	key, err := w.CreateAPIKey(w.ctx, newKey)
	require.NoError(t, err)
	require.ErrorIs(t, w.DeleteWorkspace(w.ctx, org, base, catalog.AnyVersion), catalog.ErrDefaultWorkspace)
	require.ErrorIs(t, w.DeleteWorkspace(w.ctx, org, created.ID, catalog.AnyVersion), catalog.ErrWorkspaceInUse)
	require.NoError(t, w.DeleteStorageConfig(w.ctx, catalog.SystemViewer(org), config.ID, catalog.AnyVersion))
	stale(w, w.DeleteWorkspace(w.ctx, org, created.ID, 1), 2)
	require.ErrorIs(t, w.DeleteWorkspace(w.ctx, other, created.ID, 2), catalog.ErrNotFound)
	require.NoError(t, w.DeleteWorkspace(w.ctx, org, created.ID, 2))
	_, err = w.Workspace(w.ctx, org, created.ID)
	require.ErrorIs(t, err, catalog.ErrNotFound)
	key, err = w.APIKey(w.ctx, org, key.ID)
	require.NoError(t, err)
	require.True(t, key.Revoked(), "a key must not fall back to the default workspace")
}

func workspaceMembers(t *testing.T, w *world) {
	org, owner := w.org()
	other, stranger := w.org()
	user := w.member(org, catalog.RoleViewer)
	space, base := w.workspace(org), w.defaultWorkspace(org)

	_, err := w.WorkspaceRole(w.ctx, org, space, user)
	require.ErrorIs(t, err, catalog.ErrNotFound)
	set, err := w.SetWorkspaceMember(w.ctx, org, space, user, catalog.RoleEditor)
	require.NoError(t, err)
	require.Equal(t, catalog.RoleEditor, set.Role)
	again, err := w.SetWorkspaceMember(w.ctx, org, space, user, catalog.RoleBuilder)
	require.NoError(t, err)
	require.Equal(t, set.CreatedAt, again.CreatedAt)
	role, err := w.WorkspaceRole(w.ctx, org, space, user)
	require.NoError(t, err)
	require.Equal(t, catalog.RoleBuilder, role)
	role, err = w.WorkspaceRole(w.ctx, org, base, user)
	require.NoError(t, err)
	require.Equal(t, catalog.RoleViewer, role, "in the default workspace the organisation role counts")

	_, err = w.SetWorkspaceMember(w.ctx, org, space, stranger, catalog.RoleViewer)
	require.ErrorIs(t, err, catalog.ErrNotFound)
	_, err = w.SetWorkspaceMember(w.ctx, other, space, stranger, catalog.RoleViewer)
	require.ErrorIs(t, err, catalog.ErrNotFound)
	_, err = w.SetWorkspaceMember(w.ctx, org, base, user, catalog.RoleAdmin)
	require.ErrorIs(t, err, catalog.ErrDefaultWorkspace)
	_, err = w.SetWorkspaceMember(w.ctx, org, space, user, "boss")
	require.Equal(t, []string{"role"}, fieldsOf(w, err))
	require.ErrorIs(t, w.RemoveWorkspaceMember(w.ctx, org, base, user), catalog.ErrDefaultWorkspace)
	require.ErrorIs(t, w.RemoveWorkspaceMember(w.ctx, org, space, owner), catalog.ErrNotFound)

	list, err := w.ListWorkspaceMembers(w.ctx, org, space, catalog.Page{})
	require.NoError(t, err)
	require.Len(t, list.Items, 1)
	list, err = w.ListWorkspaceMembers(w.ctx, org, base, catalog.Page{})
	require.NoError(t, err)
	require.Len(t, list.Items, 2)
	require.Equal(t, base, list.Items[0].Workspace)
	_, err = w.ListWorkspaceMembers(w.ctx, other, space, catalog.Page{})
	require.ErrorIs(t, err, catalog.ErrNotFound)

	require.NoError(t, w.RemoveWorkspaceMember(w.ctx, org, space, user))
	require.ErrorIs(t, w.RemoveWorkspaceMember(w.ctx, org, space, user), catalog.ErrNotFound)
}
