package secret_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/secret"
)

func maskKey(t *testing.T, path string, org catalog.OrgID, table catalog.DeltaID) string {
	t.Helper()
	keys, err := secret.LoadMaskKeys(path)
	require.NoError(t, err)
	key, err := keys.MaskKey(org, table)
	require.NoError(t, err)
	require.Len(t, key, 32)
	return string(key)
}

func TestMaskKeysAreOfTheirTableForever(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.json")
	_, err := secret.LoadMaskKeys(path)
	require.ErrorIs(t, err, secret.ErrKeyFile)
	keys := load(t, path)
	first := maskKey(t, path, "org", "table")
	different := map[string]bool{first: true}
	for _, place := range []struct {
		org   catalog.OrgID
		table catalog.DeltaID
	}{{"org", "other"}, {"other", "table"}, {"org table", ""}, {"", "org table"}, {"table", "org"}} {
		different[maskKey(t, path, place.org, place.table)] = true
	}
	require.Len(t, different, 6)
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NotContains(t, string(content), first)
	for range 3 {
		require.NoError(t, keys.Rotate())
		require.Equal(t, first, maskKey(t, path, "org", "table"), "a rotation changes no hash")
	}
	elsewhere := filepath.Join(t.TempDir(), "keys.json")
	load(t, elsewhere)
	require.NotEqual(t, first, maskKey(t, elsewhere, "org", "table"))
}
