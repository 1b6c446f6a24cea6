package secret_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/secret"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func load(t *testing.T, path string) *secret.Keyring {
	t.Helper()
	keys, err := secret.File{Path: path}.Load(t.Context())
	require.NoError(t, err)
	return keys
}

var home = secret.Binding{Kind: catalog.SealedStorageCredential, Org: "org", Subject: "config"}

func TestSecretsOpenInTheirPlaceOnly(t *testing.T) {
	keys := load(t, filepath.Join(t.TempDir(), "keys.json"))
	plain := []byte("a secret that is long enough to be seen")
	sealed, err := keys.Seal(home, plain)
	require.NoError(t, err)
	require.NotContains(t, string(sealed), "secret")
	again, err := keys.Seal(home, plain)
	require.NoError(t, err)
	require.NotEqual(t, sealed, again)
	opened, err := keys.Open(home, sealed)
	require.NoError(t, err)
	require.Equal(t, plain, opened)

	for name, elsewhere := range map[string]secret.Binding{
		"organisation": {Kind: home.Kind, Org: "other", Subject: "config"},
		"config":       {Kind: home.Kind, Org: "org", Subject: "other"},
		"kind":         {Kind: catalog.SealedSSOSecret, Org: "org", Subject: "config"},
		"nothing":      {},
	} {
		_, err := keys.Open(elsewhere, sealed)
		require.ErrorIs(t, err, secret.ErrSealed, name)
		require.NotContains(t, err.Error(), "secret that is long")
	}
	for at := range sealed {
		broken := append([]byte(nil), sealed...)
		broken[at] ^= 1
		_, err := keys.Open(home, broken)
		require.ErrorIs(t, err, secret.ErrSealed, "byte %d", at)
	}
	for _, cut := range [][]byte{nil, {}, sealed[:10], sealed[:len(sealed)-1], []byte("\xff\xff\xff\xff")} {
		_, err := keys.Open(home, cut)
		require.ErrorIs(t, err, secret.ErrSealed)
	}
	_, err = load(t, filepath.Join(t.TempDir(), "keys.json")).Open(home, sealed)
	require.ErrorIs(t, err, secret.ErrSealed, "another key file")
}

func TestKeyFileIsMadeOnceByAnyNumberOfProcesses(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "keys.json")
	keys := make([]*secret.Keyring, 16)
	errs := make([]error, len(keys))
	var all sync.WaitGroup
	start := make(chan struct{})
	for i := range keys {
		all.Go(func() {
			<-start
			keys[i], errs[i] = secret.File{Path: path}.Load(t.Context())
		})
	}
	close(start)
	all.Wait()
	for i := range keys {
		require.NoError(t, errs[i])
		sealed, err := keys[i].Seal(home, []byte("x"))
		require.NoError(t, err)
		_, err = keys[0].Open(home, sealed)
		require.NoError(t, err, "all hold the same key")
	}
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 1, "no temporary file is left")
}

func TestRotation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.json")
	first, second := load(t, path), load(t, path)
	old, err := first.Seal(home, []byte("old"))
	require.NoError(t, err)
	require.NoError(t, secret.File{Path: path}.Rotate(t.Context()))
	fresh, err := first.Seal(home, []byte("fresh"))
	require.NoError(t, err)
	for name, keys := range map[string]*secret.Keyring{"rotating server": first, "other server": second, "after a start": load(t, path)} {
		for plain, sealed := range map[string][]byte{"old": old, "fresh": fresh} {
			opened, err := keys.Open(home, sealed)
			require.NoError(t, err, "%s %s", name, plain)
			require.Equal(t, plain, string(opened))
		}
	}
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	require.NoError(t, os.Remove(path))
	_, err = first.Open(home, fresh)
	require.NoError(t, err, "a running server still has its keys")
	require.ErrorIs(t, secret.File{Path: path}.Rotate(t.Context()), secret.ErrKeyFile)
}

// TestRotationsWaitForEachOther checks that no rotation loses the key of another, with
// which a secret may already be sealed.
func TestRotationsWaitForEachOther(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.json")
	load(t, path)
	sealed := make([][]byte, 8)
	errs := make([]error, len(sealed))
	var all sync.WaitGroup
	for i := range sealed {
		keys := load(t, path)
		all.Go(func() {
			if errs[i] = (secret.File{Path: path}).Rotate(t.Context()); errs[i] == nil {
				sealed[i], errs[i] = keys.Seal(home, []byte{byte(i)})
			}
		})
	}
	all.Wait()
	keys := load(t, path)
	for i := range sealed {
		require.NoError(t, errs[i])
		plain, err := keys.Open(home, sealed[i])
		require.NoError(t, err)
		require.Equal(t, []byte{byte(i)}, plain)
	}
}

func TestKeyFilesThatAreRefused(t *testing.T) {
	dir := t.TempDir()
	good := filepath.Join(dir, "good.json")
	load(t, good)
	content, err := os.ReadFile(good)
	require.NoError(t, err)
	write := func(name, content string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(content), mode))
		require.NoError(t, os.Chmod(path, mode))
		return path
	}
	for name, path := range map[string]string{
		"readable by others": write("open.json", string(content), 0o644),
		"empty":              write("empty.json", "", 0o600),
		"other content":      write("other.json", `{"key":"value that is secret"}`, 0o600),
		"torn":               write("torn.json", string(content[:len(content)/2]), 0o600),
		"a directory":        dir,
		"no such directory":  filepath.Join(dir, "missing", "keys.json"),
	} {
		_, err := secret.File{Path: path}.Load(t.Context())
		require.ErrorIs(t, err, secret.ErrKeyFile, name)
		require.NotContains(t, err.Error(), "secret", name)
		require.False(t, strings.Contains(err.Error(), dir), name)
	}
	before, err := os.ReadFile(filepath.Join(dir, "empty.json"))
	require.NoError(t, err)
	require.Empty(t, before, "a file that is there is never replaced")
}
