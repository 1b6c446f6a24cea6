package catalogtest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
)

func keys(t *testing.T, w *world) {
	org, owner := w.org()
	other, stranger := w.org()
	n := w.newKey(org, owner)
	created, err := w.CreateAPIKey(w.ctx, n)
	require.NoError(t, err)
	require.Equal(t, []string{"org:read", "tables:read"}, created.Scopes, "sorted, without repeats")
	require.Equal(t, n.Hash, created.Hash)
	require.True(t, n.ExpiresAt.Equal(created.ExpiresAt))
	require.True(t, created.LastUsedAt.IsZero())
	require.True(t, created.Usable(w.now()))
	require.False(t, created.Usable(created.ExpiresAt), "the expiry is exclusive")

	found, err := w.APIKeyByPrefix(w.ctx, n.Prefix)
	require.NoError(t, err)
	w.same(created, found)
	found, err = w.APIKey(w.ctx, org, created.ID)
	require.NoError(t, err)
	w.same(created, found)
	for _, read := range []func() error{
		func() error { _, err := w.APIKey(w.ctx, other, created.ID); return err },
		func() error { _, err := w.APIKeyByPrefix(w.ctx, "lw_none"); return err },
		func() error { _, err := w.RevokeAPIKey(w.ctx, other, created.ID); return err },
	} {
		require.ErrorIs(t, read(), catalog.ErrNotFound)
	}

	again := w.newKey(org, owner)
	again.Prefix = n.Prefix
	_, err = w.CreateAPIKey(w.ctx, again)
	existing(w, err, "key_prefix")
	for field, broken := range map[string]func(*catalog.NewAPIKey){
		"name":       func(n *catalog.NewAPIKey) { n.Name = "" },
		"key_prefix": func(n *catalog.NewAPIKey) { n.Prefix = "lw_%" },
		"hash":       func(n *catalog.NewAPIKey) { n.Hash = [32]byte{} },
		"scopes":     func(n *catalog.NewAPIKey) { n.Scopes = nil },
		"expires_at": func(n *catalog.NewAPIKey) { n.ExpiresAt = w.now().Add(800 * 24 * time.Hour) },
	} {
		bad := w.newKey(org, owner)
		broken(&bad)
		_, err = w.CreateAPIKey(w.ctx, bad)
		require.Equal(t, []string{field}, fieldsOf(w, err))
	}
	space := w.workspace(org)
	for name, broken := range map[string]func(*catalog.NewAPIKey){
		"owner is not a member":                       func(n *catalog.NewAPIKey) { n.User = stranger },
		"owner is not in the workspace":               func(n *catalog.NewAPIKey) { n.Workspace = space },
		"workspace of another organisation":           func(n *catalog.NewAPIKey) { n.Workspace = w.defaultWorkspace(other) },
		"organisation that does not exist":            func(n *catalog.NewAPIKey) { n.Org = catalog.NewID[catalog.OrgID]() },
		"organisation of which owner is not a member": func(n *catalog.NewAPIKey) { n.Org = other },
	} {
		bad := w.newKey(org, owner)
		broken(&bad)
		_, err = w.CreateAPIKey(w.ctx, bad)
		require.ErrorIs(t, err, catalog.ErrNotFound, name)
	}

	all := w.newKey(org, owner)
	all.AllWorkspaces = true
	wide, err := w.CreateAPIKey(w.ctx, all)
	require.NoError(t, err)
	require.True(t, wide.AllWorkspaces)
	require.Equal(t, w.defaultWorkspace(org), wide.Workspace, "filled in")
	found, err = w.APIKeyByPrefix(w.ctx, all.Prefix)
	require.NoError(t, err)
	w.same(wide, found)
	all = w.newKey(org, owner)
	all.AllWorkspaces, all.Workspace = true, w.workspace(org, owner)
	_, err = w.CreateAPIKey(w.ctx, all)
	require.Equal(t, []string{"workspace_id"}, fieldsOf(w, err))
	require.False(t, created.AllWorkspaces)

	use := w.now()
	elsewhere, stranger := w.org()
	unused := w.key(elsewhere, stranger)
	before := w.epochNow()
	require.NoError(t, w.TouchAPIKeys(w.ctx, use))
	require.NoError(t, w.TouchAPIKeys(w.ctx, use, wide.ID, created.ID, catalog.NewID[catalog.KeyID]()))
	require.NoError(t, w.TouchAPIKeys(w.ctx, use.Add(-time.Hour), created.ID, wide.ID))
	require.Equal(t, before, w.epochNow(), "a use must not empty caches")
	found, err = w.APIKey(w.ctx, org, wide.ID)
	require.NoError(t, err)
	require.True(t, use.Equal(found.LastUsedAt))
	found, err = w.APIKey(w.ctx, elsewhere, unused.ID)
	require.NoError(t, err)
	w.same(unused, found)
	found, err = w.APIKey(w.ctx, org, created.ID)
	require.NoError(t, err)
	require.True(t, use.Equal(found.LastUsedAt), "the latest use is recorded")

	revoked, err := w.RevokeAPIKey(w.ctx, org, created.ID)
	require.NoError(t, err)
	require.True(t, revoked.Revoked())
	require.False(t, revoked.Usable(w.now()))
	before = w.epochNow()
	again2, err := w.RevokeAPIKey(w.ctx, org, created.ID)
	require.NoError(t, err)
	w.same(revoked, again2)
	require.Equal(t, before, w.epochNow())
	_, err = w.RotateAPIKey(w.ctx, org, created.ID, w.newKey(org, owner), 0)
	require.ErrorIs(t, err, catalog.ErrRevoked)

	mine := w.key(org, w.member(org, catalog.RoleViewer))
	list, err := w.ListAPIKeys(w.ctx, org, catalog.APIKeyFilter{User: mine.User}, catalog.Page{})
	require.NoError(t, err)
	w.same([]catalog.APIKey{mine}, list.Items)
	list, err = w.ListAPIKeys(w.ctx, org, catalog.APIKeyFilter{}, catalog.Page{})
	require.NoError(t, err)
	require.Len(t, list.Items, 3, "revoked ones are listed too")
}

func keyRotation(t *testing.T, w *world) {
	org, owner := w.org()
	space := w.workspace(org, owner)
	n := w.newKey(org, owner)
	n.Workspace = space
	old, err := w.CreateAPIKey(w.ctx, n)
	require.NoError(t, err)

	successor := w.newKey("", "")
	for _, grace := range []time.Duration{-time.Second, catalog.MaxRotationGrace + time.Second} {
		_, err = w.RotateAPIKey(w.ctx, org, old.ID, successor, grace)
		require.Equal(t, []string{"grace_seconds"}, fieldsOf(w, err))
	}
	created, err := w.RotateAPIKey(w.ctx, org, old.ID, successor, time.Hour)
	require.NoError(t, err)
	require.Equal(t, owner, created.User)
	require.Equal(t, space, created.Workspace)
	require.NotEqual(t, old.Hash, created.Hash)

	after, err := w.APIKey(w.ctx, org, old.ID)
	require.NoError(t, err)
	require.Equal(t, created.ID, after.Successor)
	require.True(t, after.Usable(w.now()))
	require.False(t, after.Usable(w.now().Add(time.Hour)))
	_, err = w.RotateAPIKey(w.ctx, org, old.ID, w.newKey("", ""), 0)
	existing(w, err, "successor")

	wide := w.newKey(org, owner)
	wide.AllWorkspaces = true
	made, err := w.CreateAPIKey(w.ctx, wide)
	require.NoError(t, err)
	made, err = w.RotateAPIKey(w.ctx, org, made.ID, w.newKey("", ""), 0)
	require.NoError(t, err)
	require.True(t, made.AllWorkspaces, "the workspaces are those of the old key")
	plain, err := w.CreateAPIKey(w.ctx, w.newKey(org, owner))
	require.NoError(t, err)
	successor = w.newKey("", "")
	successor.AllWorkspaces = true
	plain, err = w.RotateAPIKey(w.ctx, org, plain.ID, successor, 0)
	require.NoError(t, err)
	require.False(t, plain.AllWorkspaces)
	require.NoError(t, w.DeleteWorkspace(w.ctx, org, w.workspace(org, owner), catalog.AnyVersion))
	made, err = w.APIKey(w.ctx, org, made.ID)
	require.NoError(t, err)
	require.False(t, made.Revoked(), "it is of the default workspace")

	short := w.newKey(org, owner)
	short.ExpiresAt = w.now().Add(10 * time.Minute)
	brief, err := w.CreateAPIKey(w.ctx, short)
	require.NoError(t, err)
	w.clock.Add((8 * time.Minute).Microseconds())
	next, err := w.RotateAPIKey(w.ctx, org, brief.ID, w.newKey("", ""), catalog.MaxRotationGrace)
	require.NoError(t, err, "less than the minimum life of a new key remains")
	require.Equal(t, brief.ExpiresAt, next.ExpiresAt, "a rotation never makes a key live longer")
	after, err = w.APIKey(w.ctx, org, brief.ID)
	require.NoError(t, err)
	require.Equal(t, brief.ExpiresAt, after.ExpiresAt, "grace never makes a key live longer")

	w.clock.Add((91 * 24 * time.Hour).Microseconds())
	_, err = w.RotateAPIKey(w.ctx, org, created.ID, w.newKey("", ""), 0)
	require.ErrorIs(t, err, catalog.ErrRevoked, "an expired key is not renewed")
}
