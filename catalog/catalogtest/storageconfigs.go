package catalogtest

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
)

func storageConfigs(t *testing.T, w *world) {
	org, owner := w.org()
	other, stranger := w.org()
	expires := w.now().Add(time.Hour)
	created, err := w.CreateStorageConfig(w.ctx, catalog.NewStorageConfig{
		Org: org, Owner: owner, Name: "Sales EU (2024)", Kind: catalog.KindS3,
		Location: catalog.NewLocation("s3", "endpoint", "bucket", "a"),
		Settings: json.RawMessage(`{"region":"eu"}`), AuthMode: "access_key", CredentialExpiresAt: expires,
	})
	require.NoError(t, err)
	require.Equal(t, "sales_eu__2024_", created.Slug)
	require.Equal(t, expires, created.CredentialExpiresAt)
	require.True(t, created.Personal())
	require.True(t, created.DiscoveredAt.IsZero())
	require.JSONEq(t, `{"region":"eu"}`, string(created.Settings))

	viewer := catalog.MemberViewer(org, owner)
	for _, schema := range []string{created.Schema(), "CFG_" + string(created.ID), created.Slug, "Sales_EU__2024_"} {
		found, err := w.StorageConfigBySchema(w.ctx, viewer, schema)
		require.NoError(t, err, schema)
		w.same(created, found)
	}

	for field, broken := range map[string]func(*catalog.NewStorageConfig){
		"config_name": func(n *catalog.NewStorageConfig) { n.Name = "" },
		"kind":        func(n *catalog.NewStorageConfig) { n.Kind = "ftp" },
		"location":    func(n *catalog.NewStorageConfig) { n.Location = "s3://x/../y/" },
		"settings":    func(n *catalog.NewStorageConfig) { n.Settings = json.RawMessage(`[1]`) },
	} {
		n := catalog.NewStorageConfig{Org: org, Owner: owner, Name: "n", Kind: catalog.KindS3, Location: "s3://e/b/"}
		broken(&n)
		_, err := w.CreateStorageConfig(w.ctx, n)
		require.Equal(t, []string{field}, fieldsOf(w, err))
	}
	n := catalog.NewStorageConfig{Org: org, Owner: stranger, Name: "n", Kind: catalog.KindS3, Location: "s3://e/b/"}
	_, err = w.CreateStorageConfig(w.ctx, n)
	require.ErrorIs(t, err, catalog.ErrNotFound)
	n.Owner, n.Workspace = owner, w.defaultWorkspace(other)
	_, err = w.CreateStorageConfig(w.ctx, n)
	require.ErrorIs(t, err, catalog.ErrNotFound)

	stranger2 := catalog.MemberViewer(org, w.member(org, catalog.RoleAdmin))
	_, err = w.UpdateStorageConfig(w.ctx, stranger2, created.ID, 1, catalog.StorageConfigChange{Name: ptr("x")})
	require.ErrorIs(t, err, catalog.ErrNotFound, "an administrator does not see personal configurations")
	require.ErrorIs(t, w.DeleteStorageConfig(w.ctx, stranger2, created.ID, 1), catalog.ErrNotFound)

	changed, err := w.UpdateStorageConfig(w.ctx, viewer, created.ID, 1, catalog.StorageConfigChange{Name: ptr("Other")})
	require.NoError(t, err)
	require.Equal(t, "other", changed.Slug)
	require.JSONEq(t, `{"region":"eu"}`, string(changed.Settings))
	_, err = w.UpdateStorageConfig(w.ctx, viewer, created.ID, 1, catalog.StorageConfigChange{Name: ptr("Late")})
	stale(w, err, 2)

	table := w.table(changed, "t")
	stale(w, w.DeleteStorageConfig(w.ctx, viewer, created.ID, 1), 2)
	require.NoError(t, w.DeleteStorageConfig(w.ctx, viewer, created.ID, 2))
	_, err = w.Store.Table(w.ctx, catalog.SystemViewer(org), table.ID)
	require.ErrorIs(t, err, catalog.ErrNotFound)
	list, err := w.ListStorageConfigs(w.ctx, catalog.SystemViewer(org), catalog.Page{})
	require.NoError(t, err)
	require.Empty(t, list.Items)
}

func locations(t *testing.T, w *world) {
	org, owner := w.org()
	other, stranger := w.org()
	place := func(org catalog.OrgID, owner catalog.UserID, kind catalog.ConfigKind, l catalog.Location) error {
		_, err := w.CreateStorageConfig(w.ctx, catalog.NewStorageConfig{Org: org, Owner: owner, Name: "n", Kind: kind, Location: l})
		return err
	}
	require.NoError(t, place(org, owner, catalog.KindLocal, "file:///data/a/"))
	require.NoError(t, place(org, owner, catalog.KindS3, "s3://e/bucket/a/"))
	for _, c := range []struct {
		name  string
		own   bool
		kind  catalog.ConfigKind
		at    catalog.Location
		taken bool
	}{
		{"local, same, same organisation", true, catalog.KindLocal, "file:///data/a/", true},
		{"local, same, another organisation", false, catalog.KindLocal, "file:///data/a/", true},
		{"local, below", true, catalog.KindLocal, "file:///data/a/b/", true},
		{"local, above", false, catalog.KindLocal, "file:///data/", true},
		{"local, the file system's root", false, catalog.KindLocal, "file:///", true},
		{"local, sibling with a longer name", false, catalog.KindLocal, "file:///data/ab/", false},
		{"local, sibling in another case", false, catalog.KindLocal, "file:///data/A/", false},
		{"remote, same, same organisation", true, catalog.KindS3, "s3://e/bucket/a/", false},
		{"remote, same, another organisation", false, catalog.KindS3, "s3://e/bucket/a/", true},
		{"remote, above, another organisation", false, catalog.KindS3, "s3://e/bucket/", true},
		{"remote, below, delegated", false, catalog.KindDelegated, "s3://e/bucket/a/b/", true},
		{"remote, sibling", false, catalog.KindS3, "s3://e/bucket/b/", false},
		{"remote, with characters of patterns", false, catalog.KindS3, "s3://e/%/_/", false},
	} {
		to, by := other, stranger
		if c.own {
			to, by = org, owner
		}
		if err := place(to, by, c.kind, c.at); c.taken {
			require.ErrorIs(t, err, catalog.ErrLocationTaken, c.name)
		} else {
			require.NoError(t, err, c.name)
		}
	}
}
