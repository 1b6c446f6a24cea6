package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/duckdb"
	"github.com/lakewarden/lakewarden/engine/objstore/file"
	"github.com/lakewarden/lakewarden/engine/oracletest"
	"github.com/lakewarden/lakewarden/engine/workdir"
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
	files := writeFiles(t, filepath.Join(dir, "data"), sql, engine.FileLayout{PartitionBy: snap.PartitionColumns()})
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

// fileEngine is an engine that reads no table.
func fileEngine(t testing.TB) engine.Engine {
	t.Helper()
	e, err := duckdb.New(t.Context(), duckdb.Options{Extensions: []string{}, TempDir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e
}

// writeFiles writes the rows of a query into new files of the folder dir.
func writeFiles(t testing.TB, dir, sql string, layout engine.FileLayout) []engine.DataFile {
	t.Helper()
	scratch := t.TempDir()
	session, err := fileEngine(t).Open(t.Context(), engine.SessionOptions{Scratch: scratch})
	require.NoError(t, err)
	files, err := session.(engine.Writer).Write(t.Context(), engine.WriteStatement{Statement: engine.Statement{SQL: sql}, Layout: layout})
	var failure *engine.Error
	if err != nil {
		require.ErrorAs(t, err, &failure)
		require.NoError(t, err, failure.Text)
	}
	require.NoError(t, session.Close())
	require.NoError(t, os.MkdirAll(dir, 0o750))
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = f.Name
	}
	require.NoError(t, workdir.Move(names, scratch, dir))
	return files
}

// endPython ends a program that has done its work: threads of its libraries can
// abort the interpreter on its orderly way out.
const endPython = "\nimport os, sys\nsys.stdout.flush()\nos._exit(0)\n"

// deltaPython returns a function that runs a Python program with delta-rs.
func deltaPython(t *testing.T) func(program string, args ...string) {
	t.Helper()
	path := oracletest.Python(t)
	return func(program string, args ...string) {
		t.Helper()
		out, err := exec.Command(path, append([]string{"-c", program + endPython}, args...)...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
}
