package catalogtest

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
)

func storageSecrets(t *testing.T, w *world) {
	org, owner := w.org()
	other, _ := w.org()
	viewer := catalog.MemberViewer(org, owner)
	n := catalog.NewStorageConfig{
		ID: catalog.NewID[catalog.ConfigID](), Org: org, Owner: owner, Name: "n", Kind: catalog.KindS3, Location: "s3://e/b/",
		AuthMode: "access_key", SealedSecret: []byte("\x00sealed\xff"),
	}
	created, err := w.CreateStorageConfig(w.ctx, n)
	require.NoError(t, err)
	require.Equal(t, n.ID, created.ID)
	record, err := json.Marshal(created)
	require.NoError(t, err)
	require.NotContains(t, string(record), "sealed", "no part of the record")
	stored, err := w.StorageSecret(w.ctx, org, created.ID)
	require.NoError(t, err)
	require.Equal(t, catalog.StorageSecret{Sealed: n.SealedSecret, AuthMode: "access_key"}, stored)

	expires := w.now().Add(time.Hour)
	secret := catalog.StorageSecret{Sealed: []byte("other"), AuthMode: "assume_role", ExpiresAt: expires}
	replaced, err := w.ReplaceStorageSecret(w.ctx, viewer, created.ID, 1, secret)
	require.NoError(t, err)
	require.Equal(t, int64(2), replaced.Version, "the version shows that a cached client is outdated")
	require.Equal(t, "assume_role", replaced.AuthMode)
	require.Equal(t, expires, replaced.CredentialExpiresAt)
	_, err = w.ReplaceStorageSecret(w.ctx, viewer, created.ID, 1, catalog.StorageSecret{Sealed: []byte("late"), AuthMode: "access_key"})
	stale(w, err, 2)
	renamed, err := w.UpdateStorageConfig(w.ctx, viewer, created.ID, 2, catalog.StorageConfigChange{Name: ptr("m")})
	require.NoError(t, err)
	require.Equal(t, "assume_role", renamed.AuthMode)
	stored, err = w.StorageSecret(w.ctx, org, created.ID)
	require.NoError(t, err)
	require.Equal(t, secret, stored, "neither a late rotation nor another change touches it")

	_, err = w.StorageSecret(w.ctx, other, created.ID)
	require.ErrorIs(t, err, catalog.ErrNotFound, "of another organisation")
	admin := catalog.MemberViewer(org, w.member(org, catalog.RoleAdmin))
	_, err = w.ReplaceStorageSecret(w.ctx, admin, created.ID, catalog.AnyVersion, secret)
	require.ErrorIs(t, err, catalog.ErrNotFound, "an administrator does not see personal configurations")

	plain, err := w.CreateStorageConfig(w.ctx, catalog.NewStorageConfig{Org: org, Owner: owner, Name: "l", Kind: catalog.KindLocal,
		Location: "file:///x/"})
	require.NoError(t, err)
	_, err = w.StorageSecret(w.ctx, org, plain.ID)
	require.ErrorIs(t, err, catalog.ErrNotFound, "it holds none")

	for _, broken := range []catalog.StorageSecret{{AuthMode: "access_key"}, {Sealed: make([]byte, 70_000), AuthMode: "access_key"}} {
		_, err = w.ReplaceStorageSecret(w.ctx, viewer, created.ID, catalog.AnyVersion, broken)
		require.Equal(t, []string{"sealed_secret"}, fieldsOf(w, err))
	}
	n.ID, n.Location = "", "s3://e/c/"
	_, err = w.CreateStorageConfig(w.ctx, n)
	require.Equal(t, []string{"sealed_secret"}, fieldsOf(w, err), "sealed for no place")

	require.NoError(t, w.DeleteStorageConfig(w.ctx, viewer, created.ID, catalog.AnyVersion))
	_, err = w.StorageSecret(w.ctx, org, created.ID)
	require.ErrorIs(t, err, catalog.ErrNotFound)
}
