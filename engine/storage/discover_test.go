package storage_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/file"
	"github.com/lakewarden/lakewarden/engine/objstore/mem"
	"github.com/lakewarden/lakewarden/engine/objstore/objstoretest"
	"github.com/lakewarden/lakewarden/engine/storage"
)

const (
	commit     = "_delta_log/00000000000000000000.json"
	checkpoint = "_delta_log/00000000000000000010.checkpoint.parquet"
)

var tree = []string{
	// tables
	"orders/" + commit, "orders/part-0.parquet",
	"deep/er/and deeper/é/" + checkpoint,
	"multi/_delta_log/00000000000000000010.checkpoint.0000000001.0000000002.parquet",
	"v2/_delta_log/00000000000000000010.checkpoint.3a0d65cd-4056-49b8-937b-95f9e3ee90e5.json",
	"region=eu/sales/" + commit, // folders of an operator may look like partitions
	"_archive/old/" + commit,
	"crowded/_delta_log/.00000000000000000000.json.crc", "crowded/_delta_log/00000000000000000000.crc", "crowded/" + commit,
	"orders/nested/" + commit, // a table below another table
	"orders/plain/folder/nested2/" + commit,
	// no tables
	"orders/month=1/part-1.parquet", "orders/month=1/odd/" + commit,
	"orders/_change_data/x/" + commit,
	".hidden/t/" + commit, ".lakewarden-probe-1/t/" + commit,
	"empty_log/_delta_log/_last_checkpoint", "empty_log/_delta_log/.tmp",
	"crc_only/_delta_log/00000000000000000000.crc",
	"compacted_only/_delta_log/00000000000000000000.00000000000000000009.compacted.json",
	"short/_delta_log/0.json", "long/_delta_log/000000000000000000000.json", "word/_delta_log/0000000000000000000x.json",
	"folder_in_log/_delta_log/00000000000000000000.json/x",
	"a_file/_delta_log_/00000000000000000000.json", "loose.json", "files/only/here.csv",
}

var tables = []string{
	"_archive/old", "crowded", "deep/er/and deeper/é", "multi", "orders", "orders/nested", "orders/plain/folder/nested2",
	"region=eu/sales", "v2",
}

// discovered is a coverage with the tables that were found.
type discovered struct {
	storage.Coverage
	tables []string
}

// discover collects the tables of a bucket.
func discover(ctx context.Context, bucket objstore.Bucket, opts storage.DiscoverOptions) (found discovered, err error) {
	found.Coverage, err = storage.Discover(ctx, bucket, opts, func(t storage.FoundTable) error {
		found.tables = append(found.tables, t.Path)
		return nil
	})
	return found, err
}

func TestDiscover(t *testing.T) {
	local, err := file.New(t.TempDir())
	require.NoError(t, err)
	for name, bucket := range map[string]objstore.Bucket{"mem": mem.New(), "file": local, "prefix": objstore.Prefix(mem.New(), "p")} {
		for _, object := range tree {
			objstoretest.MustPut(t, bucket, object, "")
		}
		var progress []storage.Progress
		found, err := discover(context.Background(), bucket, storage.DiscoverOptions{
			Progress: func(p storage.Progress) { progress = append(progress, p) },
		})
		require.NoError(t, err)
		require.Empty(t, cmp.Diff(tables, slices.Sorted(slices.Values(found.tables))), name)
		require.True(t, found.Complete())
		depth := func(path string) int { return strings.Count(path, "/") }
		require.True(t, slices.IsSortedFunc(found.tables, func(a, b string) int { return depth(a) - depth(b) }), "outer folders come first")
		require.Equal(t, found.Progress, progress[len(progress)-1])
		require.Equal(t, len(tables), found.Tables)
		require.True(t, slices.IsSortedFunc(progress, func(a, b storage.Progress) int { return a.Folders - b.Folders }))

		for _, dir := range append(slices.Clone(tables), "orders/month=1/odd", ".hidden/t", "orders/_change_data/x") {
			is, err := storage.IsTable(context.Background(), bucket, dir)
			require.NoError(t, err)
			require.True(t, is, dir)
		}
		for _, dir := range []string{"", "empty_log", "short", "long", "word", "crc_only", "compacted_only", "files", "missing", "order",
			"folder_in_log"} {
			is, err := storage.IsTable(context.Background(), bucket, dir)
			require.NoError(t, err)
			require.False(t, is, dir)
		}
		_, err = storage.IsTable(context.Background(), bucket, "../orders")
		require.ErrorIs(t, err, objstore.ErrInvalidName)
	}
}

func TestDiscoverRootTable(t *testing.T) {
	bucket := mem.New()
	for _, object := range []string{commit, "x=1/part", "x=1/t/" + commit, "below/" + commit} {
		objstoretest.MustPut(t, bucket, object, "")
	}
	found, err := discover(context.Background(), bucket, storage.DiscoverOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{"", "below"}, found.tables)
	is, err := storage.IsTable(context.Background(), bucket, "")
	require.NoError(t, err)
	require.True(t, is)
}

func TestDiscoverLimits(t *testing.T) {
	bucket := mem.New()
	for i := range 30 {
		objstoretest.MustPut(t, bucket, fmt.Sprintf("t%02d/%s", i, commit), "")
	}
	deep := strings.Repeat("d/", 5)
	objstoretest.MustPut(t, bucket, deep+commit, "")
	for name, test := range map[string]struct {
		opts      storage.DiscoverOptions
		tables    int
		truncated bool
	}{
		"all":     {storage.DiscoverOptions{}, 31, false},
		"exact":   {storage.DiscoverOptions{MaxTables: 31, MaxDepth: 5, MaxFolders: 36}, 31, false},
		"tables":  {storage.DiscoverOptions{MaxTables: 30}, 30, true},
		"depth":   {storage.DiscoverOptions{MaxDepth: 4}, 30, true},
		"folders": {storage.DiscoverOptions{MaxFolders: 11}, 9, true},
		"serial":  {storage.DiscoverOptions{Parallel: 1}, 31, false},
	} {
		found, err := discover(context.Background(), bucket, test.opts)
		require.NoError(t, err, name)
		require.Len(t, found.tables, test.tables, name)
		require.Equal(t, test.tables, found.Tables, name)
		require.Equal(t, test.truncated, found.Truncated, name)
	}
}

func TestDiscoverFailures(t *testing.T) {
	store := mem.New()
	for _, object := range []string{"a/" + commit, "lost+found/x/y", "b/" + commit} {
		objstoretest.MustPut(t, store, object, "")
	}
	at := func(prefix string, err error) objstore.Bucket {
		return objstore.NewFaults(store, objstore.Cut{
			Ops: []objstore.Op{objstore.OpList}, Nth: 1, Forever: true, Err: err,
			Match: func(name string) bool { return name == prefix },
		})
	}
	found, err := discover(context.Background(), at("lost+found/", objstore.ErrDenied), storage.DiscoverOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b"}, found.tables)
	require.Equal(t, 1, found.Denied)
	require.False(t, found.Complete())

	found, err = discover(context.Background(), at("a/_delta_log/", objstore.ErrDenied), storage.DiscoverOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{"b"}, found.tables)
	require.Equal(t, 1, found.Denied)

	_, err = discover(context.Background(), at("", objstore.ErrDenied), storage.DiscoverOptions{})
	require.ErrorIs(t, err, objstore.ErrDenied)
	_, err = discover(context.Background(), at("a/", objstore.ErrUnavailable), storage.DiscoverOptions{})
	require.ErrorIs(t, err, objstore.ErrUnavailable)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = discover(ctx, store, storage.DiscoverOptions{})
	require.ErrorIs(t, err, context.Canceled)
}

// TestDiscoverDoesNotLeaveTheRoot: a link to a table outside the root is not followed.
func TestDiscoverDoesNotLeaveTheRoot(t *testing.T) {
	parent := t.TempDir()
	root := filepath.Join(parent, "root")
	require.NoError(t, os.MkdirAll(filepath.Join(parent, "secret", "_delta_log"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(parent, "secret", commit), nil, 0o644))
	require.NoError(t, os.MkdirAll(filepath.Join(root, "t"), 0o755))
	require.NoError(t, os.Symlink("../secret", filepath.Join(root, "link")))
	require.NoError(t, os.Symlink("../../secret/_delta_log", filepath.Join(root, "t", "_delta_log")))
	bucket, err := file.New(root)
	require.NoError(t, err)
	found, err := discover(context.Background(), bucket, storage.DiscoverOptions{})
	require.NoError(t, err)
	require.Empty(t, found.tables)
	_, err = storage.IsTable(context.Background(), bucket, "link")
	require.ErrorIs(t, err, objstore.ErrDenied)
}
