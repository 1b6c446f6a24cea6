package stores

import (
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/catalog/sqlstore"
)

// TestBlocksOfDeletedConfigurationsAreForgotten checks that exactly the blocks of
// existing configurations, of all organisations, stay.
func TestBlocksOfDeletedConfigurationsAreForgotten(t *testing.T) {
	store, err := sqlstore.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "catalog.db"),
		sqlstore.Options{Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	var want []string
	retained := func() (identities []string) {
		require.NoError(t, forgetBlocks(t.Context(), func(match func(identity, name string) bool) {
			for _, identity := range want {
				if !match(identity, "t/a.parquet") {
					identities = append(identities, identity)
				}
			}
		}, authz.New(store)))
		return identities
	}
	user, err := store.CreateUser(t.Context(), catalog.NewUser{Email: "admin@acme.example"})
	require.NoError(t, err)
	var configs []catalog.StorageConfig
	for _, name := range []string{"Acme", "Globex"} {
		org, err := store.CreateOrganisation(t.Context(), catalog.NewOrganisation{Name: name, Owner: user.ID})
		require.NoError(t, err)
		for _, bucket := range []string{"one", "two"} {
			c, err := store.CreateStorageConfig(t.Context(), catalog.NewStorageConfig{
				Org: org.ID, Name: bucket, Kind: catalog.KindLocal, Owner: user.ID, Location: catalog.NewLocation("file", name, bucket),
			})
			require.NoError(t, err)
			configs, want = append(configs, c), append(want, identityOf(c))
		}
	}
	want = append(want, "another")
	require.ElementsMatch(t, want[:len(want)-1], retained())
	require.NoError(t, store.DeleteStorageConfig(t.Context(), catalog.SystemViewer(configs[0].Org), configs[0].ID, catalog.AnyVersion))
	require.ElementsMatch(t, want[1:len(want)-1], retained())
}
