package catalogtest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
)

func members(t *testing.T, w *world) {
	org, owner := w.org()
	other, _ := w.org()
	user := w.user()

	added, err := w.AddMember(w.ctx, org, user, catalog.RoleEditor)
	require.NoError(t, err)
	require.Equal(t, catalog.RoleEditor, added.Role)
	require.NotNil(t, added.Attributes)
	require.NotEmpty(t, added.Email)
	_, err = w.AddMember(w.ctx, org, user, catalog.RoleViewer)
	existing(w, err, "user_id")
	_, err = w.AddMember(w.ctx, org, w.user(), "root")
	require.Equal(t, []string{"role"}, fieldsOf(w, err))
	_, err = w.AddMember(w.ctx, org, catalog.NewID[catalog.UserID](), catalog.RoleViewer)
	require.ErrorIs(t, err, catalog.ErrNotFound)
	_, err = w.AddMember(w.ctx, catalog.NewID[catalog.OrgID](), user, catalog.RoleViewer)
	require.ErrorIs(t, err, catalog.ErrNotFound)

	_, err = w.Membership(w.ctx, other, user)
	require.ErrorIs(t, err, catalog.ErrNotFound, "a member of one organisation is none of another")

	changed, err := w.SetMemberRole(w.ctx, org, user, catalog.RoleBuilder)
	require.NoError(t, err)
	require.Equal(t, catalog.RoleBuilder, changed.Role)
	found, err := w.Membership(w.ctx, org, user)
	require.NoError(t, err)
	w.same(changed, found)
	_, err = w.SetMemberRole(w.ctx, org, user, "")
	require.Equal(t, []string{"role"}, fieldsOf(w, err))
	_, err = w.SetMemberRole(w.ctx, other, user, catalog.RoleViewer)
	require.ErrorIs(t, err, catalog.ErrNotFound)

	list, err := w.ListMembers(w.ctx, org, catalog.Page{})
	require.NoError(t, err)
	require.Equal(t, []catalog.UserID{owner, user}, []catalog.UserID{list.Items[0].User, list.Items[1].User}, "by address")
}

func lastAdmin(t *testing.T, w *world) {
	org, owner := w.org()
	_, err := w.SetMemberRole(w.ctx, org, owner, catalog.RoleBuilder)
	require.ErrorIs(t, err, catalog.ErrLastAdmin)
	require.ErrorIs(t, w.RemoveMember(w.ctx, org, owner), catalog.ErrLastAdmin)

	admin := w.member(org, catalog.RoleAdmin)
	require.ErrorIs(t, w.RemoveMember(w.ctx, org, owner), catalog.ErrLastAdmin, "the owner stays even with another administrator")
	_, err = w.SetMemberRole(w.ctx, org, owner, catalog.RoleViewer)
	require.ErrorIs(t, err, catalog.ErrLastAdmin)
	_, err = w.SetMemberRole(w.ctx, org, owner, catalog.RoleAdmin)
	require.NoError(t, err, "the current role is not a change")

	_, err = w.UpdateOrganisation(w.ctx, org, catalog.AnyVersion, catalog.OrganisationChange{Owner: &admin})
	require.NoError(t, err)
	require.NoError(t, w.RemoveMember(w.ctx, org, owner))
	_, err = w.SetMemberRole(w.ctx, org, admin, catalog.RoleViewer)
	require.ErrorIs(t, err, catalog.ErrLastAdmin)
}

func removedMember(t *testing.T, w *world) {
	org, owner := w.org()
	other, _ := w.org()
	user := w.member(org, catalog.RoleBuilder)
	_, err := w.AddMember(w.ctx, other, user, catalog.RoleViewer)
	require.NoError(t, err)
	space := w.workspace(org, user)
	shared := w.config(org, owner, space, "shared")
	personal := w.config(org, user, "", "personal")
	key, elsewhere := w.key(org, user), w.key(other, user)

	require.NoError(t, w.RemoveMember(w.ctx, org, user))
	require.ErrorIs(t, w.RemoveMember(w.ctx, org, user), catalog.ErrNotFound)

	viewer := catalog.MemberViewer(org, user)
	for _, id := range []catalog.ConfigID{shared.ID, personal.ID} {
		_, err = w.StorageConfig(w.ctx, viewer, id)
		require.ErrorIs(t, err, catalog.ErrNotFound)
	}
	_, err = w.WorkspaceRole(w.ctx, org, space, user)
	require.ErrorIs(t, err, catalog.ErrNotFound)
	found, err := w.APIKeyByPrefix(w.ctx, key.Prefix)
	require.NoError(t, err)
	require.True(t, found.Revoked())
	found, err = w.APIKeyByPrefix(w.ctx, elsewhere.Prefix)
	require.NoError(t, err)
	require.False(t, found.Revoked(), "keys of the other organisation go on")

	_, err = w.AddMember(w.ctx, org, user, catalog.RoleViewer)
	require.NoError(t, err)
	_, err = w.StorageConfig(w.ctx, viewer, shared.ID)
	require.ErrorIs(t, err, catalog.ErrNotFound, "coming back does not bring back the workspaces")
}

func attributes(t *testing.T, w *world) {
	org, owner := w.org()
	other, _ := w.org()
	set := map[string]string{"team": "north", "level": "3", "quote": `"\'; DROP`, "empty": ""}
	changed, err := w.ReplaceAttributes(w.ctx, org, owner, set)
	require.NoError(t, err)
	w.same(set, changed.Attributes)
	found, err := w.Membership(w.ctx, org, owner)
	require.NoError(t, err)
	w.same(set, found.Attributes)

	changed, err = w.ReplaceAttributes(w.ctx, org, owner, map[string]string{"team": "south"})
	require.NoError(t, err)
	w.same(map[string]string{"team": "south"}, changed.Attributes)
	changed, err = w.ReplaceAttributes(w.ctx, org, owner, nil)
	require.NoError(t, err)
	require.Empty(t, changed.Attributes)
	require.NotNil(t, changed.Attributes)

	many := map[string]string{}
	for i := range catalog.MaxAttributes + 1 {
		many["a"+strings.Repeat("b", i%30)+string(rune('a'+i/30))] = ""
	}
	for name, bad := range map[string]map[string]string{
		"attributes":      {"": "x"},
		"attributes.long": {"long": strings.Repeat("x", catalog.MaxAttributeValueBytes+1)},
		"attributes.nul":  {"nul": "a\x00b"},
		"attributes.utf":  {"utf": "\xff"},
	} {
		_, err = w.ReplaceAttributes(w.ctx, org, owner, bad)
		require.Equal(t, []string{name}, fieldsOf(w, err))
	}
	_, err = w.ReplaceAttributes(w.ctx, org, owner, many)
	require.Equal(t, []string{"attributes"}, fieldsOf(w, err))
	_, err = w.ReplaceAttributes(w.ctx, other, owner, set)
	require.ErrorIs(t, err, catalog.ErrNotFound)

	north, long := "north", strings.Repeat("x", catalog.MaxAttributeValueBytes+1)
	_, err = w.ReplaceAttributes(w.ctx, org, owner, map[string]string{"team": "south", "floor": "2", "own": "x"})
	require.NoError(t, err)
	for range 2 { // idempotent
		changed, err = w.ChangeAttributes(w.ctx, org, owner, map[string]*string{"team": &north, "floor": nil, "unknown": nil})
		require.NoError(t, err)
		w.same(map[string]string{"team": "north", "own": "x"}, changed.Attributes)
	}
	_, err = w.ChangeAttributes(w.ctx, org, owner, map[string]*string{"long": &long})
	require.Equal(t, []string{"attributes.long"}, fieldsOf(w, err))
	_, err = w.ChangeAttributes(w.ctx, other, owner, map[string]*string{"team": &north})
	require.ErrorIs(t, err, catalog.ErrNotFound)
}
