package storage_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// TestLostKeyFileIsNotReplaced checks that the server does not create a new key file
// while the catalog has secrets that only the lost one opens: that would hide the loss. The
// keys that sign access tokens are such secrets, so this holds from the first start on.
func TestLostKeyFileIsNotReplaced(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, nil)
	s.Stop()
	keys, err := os.ReadFile(s.Config.KeyFile)
	require.NoError(t, err)
	require.NoError(t, os.Remove(s.Config.KeyFile))
	require.ErrorContains(t, s.Refuses(), "key_file")
	require.NoFileExists(t, s.Config.KeyFile)
	require.NoError(t, os.WriteFile(s.Config.KeyFile, keys, 0o600))

	store, err := s.OpenCatalog(t.Context())
	require.NoError(t, err)
	_, err = store.CreateStorageConfig(t.Context(), catalog.NewStorageConfig{
		Org: catalog.OrgID(s.Boot.OrganisationID), Name: "remote", Kind: catalog.KindS3, Owner: catalog.UserID(s.Boot.UserID),
		Location: catalog.NewLocation("s3", "endpoint", "bucket"), Settings: json.RawMessage(`{}`), AuthMode: "access_key",
	})
	require.NoError(t, err)
	require.NoError(t, store.Close())
	s.Start()
	s.Stop()
	require.NoError(t, os.Remove(s.Config.KeyFile))
	require.ErrorContains(t, s.Refuses(), "key_file")
	require.NoFileExists(t, s.Config.KeyFile)
}
