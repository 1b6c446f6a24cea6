package file_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/file"
)

// TestNewFilesHaveTheRightsOfTheTable: the group and the mode of the table's folder, without
// others, whatever the umask is and whatever folders of the table others made.
func TestNewFilesHaveTheRightsOfTheTable(t *testing.T) {
	group := otherGroup(t)
	for _, c := range []struct {
		name         string
		folder       fs.FileMode
		chosen       fs.FileMode
		files, inner fs.FileMode
	}{
		{"private", 0o700, 0, 0o600, 0o700},
		{"group reads", 0o750, 0, 0o640, 0o750},
		{"group writes", 0o770, 0, 0o660, 0o770},
		{"others read", 0o755, 0, 0o640, 0o750},
		{"everybody writes", 0o777, 0, 0o660, 0o770},
		{"inherited group", 0o770 | fs.ModeSetgid, 0, 0o660, 0o770 | fs.ModeSetgid},
		{"configured", 0o700, 0o644, 0o644, 0o755},
		{"configured for the group", 0o755, 0o660, 0o660, 0o770},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			table := filepath.Join(root, "sales", "orders")
			require.NoError(t, os.MkdirAll(table, 0o755))
			require.NoError(t, os.Chown(table, -1, group))
			require.NoError(t, os.Chmod(table, c.folder))
			b, err := file.Open(root, file.Options{Mode: c.chosen})
			require.NoError(t, err)
			put := func(name string) {
				require.NoError(t, b.Put(t.Context(), name, strings.NewReader("x"), 1))
			}
			requireRights := func(name string, mode fs.FileMode) {
				t.Helper()
				info, err := os.Stat(filepath.Join(root, filepath.FromSlash(name)))
				require.NoError(t, err)
				require.Equal(t, mode, info.Mode()&(fs.ModePerm|fs.ModeSetgid), name)
				require.Equal(t, group, int(info.Sys().(*syscall.Stat_t).Gid), name)
			}
			require.NoError(t, b.PutIfAbsent(t.Context(), "sales/orders/_delta_log/00000000000000000000.json", []byte("x")))
			requireRights("sales/orders/_delta_log", c.inner)
			requireRights("sales/orders/_delta_log/00000000000000000000.json", c.files)
			// Folders of another engine do not count.
			for _, folder := range []string{"_delta_log", "p=1"} {
				require.NoError(t, os.MkdirAll(filepath.Join(table, folder), 0o777))
				require.NoError(t, os.Chmod(filepath.Join(table, folder), 0o777))
			}
			for _, name := range []string{
				"_delta_log/00000000000000000001.checkpoint.parquet", "_delta_log/_last_checkpoint", "_delta_log/_sidecars/a.parquet",
				"part-0.parquet", "p=1/part-1.parquet", "p=2/q=3/part-2.parquet", "deletion_vector_x.bin", "_change_data/cdc-0.parquet",
			} {
				put("sales/orders/" + name)
				requireRights("sales/orders/"+name, c.files)
			}
			for _, folder := range []string{"p=2", "p=2/q=3", "_change_data", "_delta_log/_sidecars"} {
				requireRights("sales/orders/"+folder, c.inner)
			}
			put("sales/orders/part-0.parquet")
			requireRights("sales/orders/part-0.parquet", c.files)
			copied, err := b.CopyFrom(t.Context(), b, objstore.Object{Name: "sales/orders/part-0.parquet"}, "sales/orders/p=9/part-0.parquet")
			require.NoError(t, err)
			require.True(t, copied)
			requireRights("sales/orders/p=9", c.inner)
		})
	}
}

// TestANewTableHasTheRightsOfItsParent, as there is no folder of a table yet.
func TestANewTableHasTheRightsOfItsParent(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.Chmod(root, 0o755))
	b, err := file.New(root)
	require.NoError(t, err)
	require.NoError(t, b.PutIfAbsent(t.Context(), "a/b/_delta_log/00000000000000000000.json", []byte("x")))
	require.NoError(t, b.PutIfAbsent(t.Context(), "_delta_log/00000000000000000000.json", []byte("x")))
	for name, mode := range map[string]fs.FileMode{
		"a": 0o750, "a/b": 0o750, "a/b/_delta_log": 0o750, "a/b/_delta_log/00000000000000000000.json": 0o640,
		"_delta_log": 0o750, "_delta_log/00000000000000000000.json": 0o640,
	} {
		info, err := os.Stat(filepath.Join(root, name))
		require.NoError(t, err)
		require.Equal(t, mode, info.Mode().Perm(), name)
	}
}

// otherGroup returns a group that this process may give to files, another than its own if there
// is one.
func otherGroup(t *testing.T) int {
	t.Helper()
	if os.Geteuid() == 0 {
		return 4321
	}
	groups, err := os.Getgroups()
	require.NoError(t, err)
	for _, group := range groups {
		if group != os.Getegid() {
			return group
		}
	}
	return os.Getegid()
}
