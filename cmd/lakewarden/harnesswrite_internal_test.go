package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/duckdb"
	"github.com/lakewarden/lakewarden/engine/objstore/file"
)

// appendRows commits more rows to a table, as another engine beside the server
// would; a table that is partitioned gets them without a look at partitions
// other than what the files say.
func appendRows(t testing.TB, dir, sql string) {
	t.Helper()
	bucket, err := file.New(dir)
	require.NoError(t, err)
	snap, err := delta.Load(t.Context(), bucket, delta.Options{})
	require.NoError(t, err)
	request := engineWrite(sql, filepath.Join(dir, "data"))
	request.PartitionBy = snap.PartitionColumns()
	files, err := duckdb.FileWriter{}.WriteFiles(t.Context(), request)
	require.NoError(t, err)
	txn := snap.Begin(delta.Operation{Name: "WRITE"})
	for _, f := range files {
		values := map[string]*string{}
		for name, text := range f.Partition {
			field, ok := snap.Schema().Field(name)
			require.True(t, ok)
			values[name], err = delta.PartitionValue(field.Type, text)
			require.NoError(t, err)
		}
		info, err := os.Stat(filepath.Join(dir, "data", f.Name))
		require.NoError(t, err)
		require.NoError(t, txn.Add(delta.AddFile{Name: "data/" + f.Name, PartitionValues: values, Size: info.Size(), ModTime: time.Now()}))
	}
	_, err = txn.Commit(t.Context())
	require.NoError(t, err)
}

// deltaPython returns a function that runs a Python program with delta-rs.
func deltaPython(t *testing.T) func(program string, args ...string) {
	t.Helper()
	path := os.Getenv("LAKEWARDEN_TEST_PYTHON")
	if path == "" {
		path = "../../bin/venv/bin/python"
	}
	if err := exec.Command(path, "-c", "import deltalake, pyarrow").Run(); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("no delta-rs for this test: %v", err)
		}
		t.Skipf("no delta-rs for this test (make test-deps, or set LAKEWARDEN_TEST_PYTHON): %v", err)
	}
	return func(program string, args ...string) {
		t.Helper()
		out, err := exec.Command(path, append([]string{"-c", program}, args...)...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
}
