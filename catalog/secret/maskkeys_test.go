package secret_test

import (
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/secret"
)

func maskKey(t *testing.T, path string, org catalog.OrgID, table catalog.TableID) string {
	t.Helper()
	key, err := load(t, path).MaskKey(org, table)
	require.NoError(t, err)
	require.Len(t, key, 32)
	return string(key)
}

func TestMaskKeysAreOfTheirTableForever(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.json")
	load(t, path)
	first := maskKey(t, path, "org", "table")
	different := map[string]bool{first: true}
	for _, place := range []struct {
		org   catalog.OrgID
		table catalog.TableID
	}{{"org", "other"}, {"other", "table"}, {"org table", ""}, {"", "org table"}, {"table", "org"}} {
		different[maskKey(t, path, place.org, place.table)] = true
	}
	require.Len(t, different, 6)
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NotContains(t, string(content), first)
	for range 3 {
		require.NoError(t, secret.File{Path: path}.Rotate(t.Context()))
		require.Equal(t, first, maskKey(t, path, "org", "table"), "a rotation changes no hash")
	}
	elsewhere := filepath.Join(t.TempDir(), "keys.json")
	load(t, elsewhere)
	require.NotEqual(t, first, maskKey(t, elsewhere, "org", "table"))
}

// TestMaskKeysOfFilesWithoutARoot checks that the root of the first form of key files
// stays the same when a rotation stores it.
func TestMaskKeysOfFilesWithoutARoot(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.json")
	// An AES-256-GCM key of the bytes 0 to 31.
	value := append([]byte{0x1a, 0x20}, make([]byte, 32)...)
	for i := range 32 {
		value[2+i] = byte(i)
	}
	require.NoError(t, os.WriteFile(path, []byte(`{"primaryKeyId":7,"key":[{"keyData":{
		"typeUrl":"type.googleapis.com/google.crypto.tink.AesGcmKey",
		"value":"`+base64.StdEncoding.EncodeToString(value)+`","keyMaterialType":"SYMMETRIC"},
		"status":"ENABLED","keyId":7,"outputPrefixType":"TINK"}]}`), 0o600))
	root, err := hkdf.Extract(sha256.New, value[2:], []byte("lakewarden masks"))
	require.NoError(t, err)
	ofOrg, err := hkdf.Expand(sha256.New, root, "organisation org", 32)
	require.NoError(t, err)
	ofTable, err := hkdf.Expand(sha256.New, ofOrg, "table table", 32)
	require.NoError(t, err)
	require.Equal(t, string(ofTable), maskKey(t, path, "org", "table"))

	sealed, err := load(t, path).Seal(home, []byte("plain"))
	require.NoError(t, err)
	require.NoError(t, secret.File{Path: path}.Rotate(t.Context()))
	require.Equal(t, string(ofTable), maskKey(t, path, "org", "table"))
	store := &memory{}
	store.put(home, sealed)
	_, err = reseal(path, store).Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, string(ofTable), maskKey(t, path, "org", "table"), "the first key is gone")
}
