package storage_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
	"github.com/lakewarden/lakewarden/engine/objstore/s3test"
)

// fillFolder makes folders below root, each with a file, and tables whose logs were written an
// hour ago.
func fillFolder(t *testing.T, root string, folders, tables int) {
	t.Helper()
	for i := range folders {
		dir := filepath.Join(root, fmt.Sprintf("raw/%02d/%04d", i%20, i))
		require.NoError(t, os.MkdirAll(dir, 0o750))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "rows.csv"), []byte("a\n1\n"), 0o600))
	}
	for i := range tables {
		writeLog(t, filepath.Join(root, fmt.Sprintf("t%03d", i)), time.Now().Add(-time.Hour))
	}
}

// writeLog writes an empty table with a new id.
func writeLog(t *testing.T, dir string, written time.Time) {
	t.Helper()
	commit := filepath.Join(dir, harness.FirstCommit)
	require.NoError(t, os.MkdirAll(filepath.Dir(commit), 0o750))
	text := `{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}` + "\n" + `{"metaData":{"id":"` + uuid.NewString() +
		`","format":{"provider":"parquet","options":{}},"partitionColumns":[],"configuration":{},` +
		`"schemaString":"{\"type\":\"struct\",\"fields\":[]}"}}` + "\n"
	require.NoError(t, os.WriteFile(commit, []byte(text), 0o600))
	require.NoError(t, os.Chtimes(commit, written, written))
}

// TestDiscoveryOfManyFolders discovers a local folder and a bucket with many folders. A second
// discovery reads no log, and sees what has changed; as an operation it reports its progress.
func TestDiscoveryOfManyFolders(t *testing.T) {
	const folders, tables = 1500, 300
	store := s3test.Start(t)
	bucket := store.Bucket(t)
	s := harness.StartS3Server(t)
	local := filepath.Join(s.Config.LocalRoots[0], "many")
	require.NoError(t, os.MkdirAll(local, 0o750))
	for name, c := range map[string]struct {
		root string
		body map[string]any
	}{
		"local": {local, harness.LocalConfig("many", local)},
		"s3":    {store.Folder(bucket), harness.S3Body(store, bucket, nil)},
	} {
		t.Run(name, func(t *testing.T) {
			fillFolder(t, c.root, folders, tables)
			path := harness.ConfigsPath + "/" + s.Admin.OK("POST", harness.ConfigsPath, c.body)["configId"].(string) + "/discover"
			reads := func() float64 {
				return s.Metric(t, `lakewarden_objstore_requests_total{op="get",outcome="ok",store="`+name+`"}`)
			}
			require.GreaterOrEqual(t, reads(), float64(tables), "its creation discovered the tables")
			before, begun := reads(), time.Now()
			again := s.Admin.OK("POST", path, nil)
			t.Logf("discovered again in %v", time.Since(begun))
			require.Equal(t, float64(tables), again["tablesFound"])
			require.Zero(t, again["tablesAdded"])
			require.Equal(t, before, reads(), "no log was read")

			writeLog(t, filepath.Join(c.root, "t007"), time.Now().Add(-time.Minute))
			require.NoError(t, os.RemoveAll(filepath.Join(c.root, "t008")))
			writeLog(t, filepath.Join(c.root, "raw/00/0000/late"), time.Now())
			r := s.Admin.Call("POST", path, nil, "Prefer", "respond-async")
			require.Equal(t, 202, r.Status, "%s", r.Body)
			done := s.Admin.Await(r.JSON(t))
			require.Equal(t, "succeeded", done["state"], "%v", done)
			progress, result := done["progress"].(map[string]any), done["result"].(map[string]any)
			require.Equal(t, "folders", progress["unit"])
			require.Equal(t, float64(1+1+20+folders+tables), progress["done"], "the root, its tables, raw, its folders and theirs")
			require.Equal(t, float64(tables), result["tablesFound"])
			for _, one := range []string{"tablesAdded", "tablesMissing", "tablesChanged"} {
				require.EqualValues(t, 1, result[one], one)
			}
			require.Equal(t, false, result["truncated"])
		})
	}
}
