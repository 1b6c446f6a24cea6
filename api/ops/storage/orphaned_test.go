package storage_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/ops/storage"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
)

// TestPersonalStorageOfAFormerMemberIsNotUsed checks that the server neither lists the personal storage
// of somebody who has left, nor warns of the end of a credential that nobody can replace, until the
// person returns.
func TestPersonalStorageOfAFormerMemberIsNotUsed(t *testing.T) {
	d := newDiscovering(t)
	system := authz.System(context.Background(), "test")
	leaver, err := d.store.CreateUser(system, catalog.NewUser{Email: "leaver@example.com"})
	require.NoError(t, err)
	join := func() {
		_, err := d.store.AddMember(system, d.config.Org, leaver.ID, catalog.RoleBuilder)
		require.NoError(t, err)
	}
	join()
	own, err := d.store.CreateStorageConfig(system, catalog.NewStorageConfig{
		ID: catalog.NewID[catalog.ConfigID](), Org: d.config.Org, Owner: leaver.ID, Name: "own", Kind: catalog.KindS3,
		Location: catalog.NewLocation("s3", "e", "own"), AuthMode: "access_key", CredentialExpiresAt: time.Now().Add(time.Hour),
		SealedSecret: []byte("sealed"),
	})
	require.NoError(t, err)
	d.bucket.tables["t"] = []string{uuid.NewString()}
	registry := prometheus.NewRegistry()
	expiry := storage.NewExpiry(d.store, time.Now, registry)
	used := func(config catalog.StorageConfig) bool {
		t.Helper()
		found, err := d.store.StorageConfig(system, catalog.SystemViewer(config.Org), config.ID)
		require.NoError(t, err)
		return !found.DiscoveredAt.IsZero()
	}
	ending := func() (sum float64) {
		t.Helper()
		require.NoError(t, expiry.Update(system))
		families, err := registry.Gather()
		require.NoError(t, err)
		for _, m := range families[0].GetMetric() {
			sum += m.GetGauge().GetValue()
		}
		return sum
	}
	require.Equal(t, 1.0, ending())
	require.NoError(t, d.store.RemoveMember(system, d.config.Org, leaver.ID))
	require.NoError(t, d.configs.Discovery.All(system))
	require.False(t, used(own))
	require.True(t, used(d.config))
	require.Zero(t, ending())
	join()
	require.NoError(t, d.configs.Discovery.All(system))
	require.True(t, used(own))
	require.Equal(t, 1.0, ending())
}
