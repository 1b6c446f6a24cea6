package delta_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/delta/deletion"
	"github.com/lakewarden/lakewarden/engine/delta/logpath"
	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/file"
	"github.com/lakewarden/lakewarden/engine/objstore/mem"
)

// tableFolder is the folder "a table" of a local store, with a file outside it.
func tableFolder(t *testing.T) (root string, b objstore.Bucket) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	root = filepath.Join(base, "a table")
	require.NoError(t, os.MkdirAll(root, 0o755))
	require.NoError(t, os.MkdirAll(root+"2", 0o755))
	require.NoError(t, os.WriteFile(root+"2/x.parquet", nil, 0o600))
	store, err := file.New(base)
	require.NoError(t, err)
	return root, objstore.Prefix(store, "a table")
}

// uri returns a path in the log's encoding.
func uri(path string) string { return logpath.Encode(path) }

func liveNames(s *delta.Snapshot) []string {
	var out []string
	for f := range s.Files() {
		out = append(out, f.Name)
	}
	return out
}

// TestAbsolutePathsInsideTheTableAreRead has absolute paths wherever the log may hold one,
// and checks that later commits and checkpoints keep them unchanged.
func TestAbsolutePathsInsideTheTableAreRead(t *testing.T) {
	root, b := tableFolder(t)
	base := uri(root)
	object, body, vectors, err := deletion.EncodeFile([16]byte{1}, []*deletion.Rows{rowSet(t, 1)})
	require.NoError(t, err)
	require.NoError(t, b.PutIfAbsent(t.Context(), object, body))
	d := vectors[0]
	withVector := strings.Replace(addLine("file://"+base+"/with.parquet"), `"size"`, fmt.Sprintf(
		`"deletionVector":{"storageType":"p","pathOrInlineDv":"file:%s/%s","offset":%d,"sizeInBytes":%d,"cardinality":1},"size"`, base, object,
		*d.Offset, d.SizeInBytes), 1)
	mustLog(t, b,
		firstCommit(addLine("plain.parquet"), addLine("file://"+base+"/p=1/uri.parquet"), addLine(base+"/path.parquet"), withVector),
		`{"cdc":{"path":"file://`+base+`/_change_data/c.parquet","partitionValues":{},"size":1,"dataChange":false}}`)
	s, err := delta.Load(t.Context(), b, testOptions(t))
	require.NoError(t, err)
	want := []string{"p=1/uri.parquet", "path.parquet", "plain.parquet", "with.parquet"}
	require.Equal(t, want, liveNames(s))
	require.NoError(t, delta.CheckReadable(s))
	require.ErrorIs(t, delta.CheckScannable(s), delta.ErrUnsupportedFeature, "the extension looks for them elsewhere")

	var referenced []string
	require.NoError(t, s.EachReferenced(t.Context(), time.Time{}, func(name string) { referenced = append(referenced, name) }))
	for _, name := range append(want, object) {
		require.Contains(t, referenced, name)
	}
	files := slices.Collect(s.Files())
	rows, err := s.DeletedRows(t.Context(), files[3])
	require.NoError(t, err)
	require.EqualValues(t, 1, rows.Count())

	// A remove action has the same path as the add action, so replaying it finds the file.
	txn := s.Begin(delta.Operation{Name: "DELETE"})
	require.NoError(t, txn.Remove(false, files[0], files[2]))
	s, err = txn.Commit(t.Context())
	require.NoError(t, err)
	require.Contains(t, contentOf(t, b, logpath.CommitName(2)), `"path":"file://`+base+`/p=1/uri.parquet"`)
	require.Equal(t, []string{"path.parquet", "with.parquet"}, liveNames(s))
	require.NoError(t, s.Checkpoint(t.Context()))
	for v := range s.Version() {
		require.NoError(t, b.Delete(t.Context(), logpath.CommitName(v)))
	}
	again, err := delta.Load(t.Context(), b, testOptions(t))
	require.NoError(t, err)
	require.Equal(t, viewOf(s), viewOf(again))
	require.Equal(t, base+"/path.parquet", slices.Collect(again.Files())[0].Add.Path)
}

// TestAbsoluteSidecars loads logs whose checkpoint names its sidecar by an absolute path:
// only paths into the folder of sidecars are accepted.
func TestAbsoluteSidecars(t *testing.T) {
	root, b := tableFolder(t)
	for path, fails := range map[string]bool{
		"file://" + uri(root) + "/_delta_log/_sidecars/used.json":     false,
		"file://" + uri(root) + "/used.json":                          true,
		"file://" + uri(root) + "2/_delta_log/_sidecars/used.json":    true,
		"file://" + uri(root) + "/_delta_log/_sidecars/sub/used.json": true,
	} {
		mustPut(t, b, "_delta_log/00000000000000000001.json", addLine("a")) // nothing replaces the checkpoint
		mustPut(t, b, "_delta_log/00000000000000000001.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json",
			firstCommit(`{"checkpointMetadata":{"version":1}}`, `{"sidecar":{"path":"`+path+`","sizeInBytes":1,"modificationTime":1}}`))
		_, err := delta.Load(t.Context(), b, testOptions(t))
		if fails {
			require.ErrorIs(t, err, delta.ErrUnsafePath, path)
			continue
		}
		// The path is accepted, but the sidecar is missing.
		require.ErrorIs(t, err, delta.ErrLogBroken, path)
		require.NotErrorIs(t, err, delta.ErrUnsafePath, path)
	}
}

func TestAbsolutePathsOutsideTheTableAreRefused(t *testing.T) {
	root, local := tableFolder(t)
	require.NoError(t, os.Symlink(root+"2", root+"/out"))
	for _, path := range []string{
		uri(root) + "2/x.parquet", "file://" + uri(root) + "2/x.parquet", "file://" + uri(root) + "/../a%20table2/x.parquet",
		"file://" + uri(root) + "/%2E%2E/a%20table2/x.parquet", "file://" + uri(root) + "/out/x.parquet", "file://" + uri(root), "file://" +
			uri(root) + "/",
		"file://host" + uri(root) + "/x.parquet", "s3://bucket" + uri(root) + "/x.parquet", "hdfs:" + uri(root) + "/x.parquet", uri(root) +
			"/x.parquet?a", "/etc/passwd",
	} {
		for name, line := range map[string]string{
			"add": addLine(path), "remove": `{"remove":{"path":"` + path + `"}}`, "cdc": `{"cdc":{"path":"` + path + `","size":1}}`,
			"vector": strings.Replace(addLine("a"), `"size"`, `"deletionVector":{"storageType":"p","pathOrInlineDv":"`+path+
				`","offset":1,"sizeInBytes":1,"cardinality":1},"size"`, 1),
		} {
			for store, b := range map[string]objstore.Bucket{"local": local, "memory": mem.New()} {
				mustPut(t, b, logpath.CommitName(0), firstCommit(line))
				_, err := delta.Load(t.Context(), b, testOptions(t))
				require.ErrorIs(t, err, delta.ErrUnsafePath, "%s: %s %s", store, name, path)
			}
		}
	}
	relative := strings.Replace(addLine("a"), `"size"`, `"deletionVector":{"storageType":"p","pathOrInlineDv":"v.bin","offset":1,`+
		`"sizeInBytes":1,"cardinality":1},"size"`, 1)
	mustPut(t, local, logpath.CommitName(0), firstCommit(relative))
	_, err := delta.Load(t.Context(), local, testOptions(t))
	require.ErrorIs(t, err, delta.ErrUnsafePath, "storage type p is absolute")
}

// TestPathsOfOneObjectAreDifferentFiles draws logs that name objects in several ways.
// The model is Spark's replay: relative paths and qualified URIs are compared as
// written, and an absolute path without a scheme equals that of the file system.
func TestPathsOfOneObjectAreDifferentFiles(t *testing.T) {
	root, b := tableFolder(t)
	rapid.Check(t, func(rt *rapid.T) {
		live := map[string]string{}
		absolute := false
		lines := []string{}
		for range rapid.IntRange(1, 12).Draw(rt, "actions") {
			name := rapid.SampledFrom([]string{"a", "b", "c d"}).Draw(rt, "name")
			form := rapid.SampledFrom([]string{"relative", "path", "uri", "short"}).Draw(rt, "form")
			path, key := uri(name), name
			if form != "relative" {
				path, key = map[string]string{"path": "", "uri": "file://", "short": "file:"}[form]+uri(root+"/"+name), "file:"+root+"/"+name
				absolute = true
			}
			if rapid.Bool().Draw(rt, "add") {
				lines = append(lines, addLine(path))
				live[key] = name
			} else {
				lines = append(lines, `{"remove":{"path":"`+path+`","deletionTimestamp":1,"dataChange":true}}`)
				delete(live, key)
			}
		}
		var want []string
		for _, name := range live {
			want = append(want, name)
		}
		slices.Sort(want)
		cut := rapid.IntRange(0, len(lines)).Draw(rt, "cut")
		mustPut(t, b, logpath.CommitName(0), firstCommit(lines[:cut]...))
		mustPut(t, b, logpath.CommitName(1), `{"commitInfo":{}}`+"\n"+strings.Join(lines[cut:], "\n"))
		s, err := delta.Load(t.Context(), b, testOptions(t))
		require.NoError(rt, err)
		require.Equal(rt, want, liveNames(s))
		doubled := len(slices.Compact(slices.Clone(want))) < len(want)
		var refused *delta.FeatureError
		if doubled {
			require.ErrorAs(rt, delta.CheckReadable(s), &refused)
			require.Equal(rt, "absolute paths", refused.Feature)
			return
		}
		require.NoError(rt, delta.CheckReadable(s))
		require.Equal(rt, absolute, delta.CheckScannable(s) != nil)
	})
}
