package duckdb_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/duckdb"
)

func TestWriteFilesDescribesWhatItWrote(t *testing.T) {
	dir := t.TempDir()
	first, err := duckdb.FileWriter{}.WriteFiles(context.Background(), engine.WriteRequest{
		SQL: `SELECT i AS id, CASE WHEN i % 2 = 0 THEN NULL ELSE 'v' || i END AS "a.""b", {'x': i} AS st, i % 3 AS p FROM range(30) t(i)`,
		Dir: dir, PartitionBy: []string{"p"},
	})
	require.NoError(t, err)
	require.Len(t, first, 3)
	for _, f := range first {
		require.Equal(t, filepath.Base(f.Name), f.Name, "no partition value in a path")
		info, err := os.Stat(filepath.Join(dir, f.Name))
		require.NoError(t, err)
		require.Equal(t, info.Size(), f.Bytes)
		require.Equal(t, int64(10), f.Rows)
		at := slices.IndexFunc(f.Columns, func(c engine.ColumnStats) bool { return slices.Equal(c.Path, []string{`a."b`}) })
		require.GreaterOrEqual(t, at, 0)
		require.Equal(t, int64(5), *f.Columns[at].NullCount)
		require.True(t, slices.ContainsFunc(f.Columns, func(c engine.ColumnStats) bool {
			return slices.Equal(c.Path, []string{"st", "x"}) && *c.Min == *f.Partition["p"]
		}), "the smallest i of a partition is its own number")
	}

	read := filepath.Join(dir, first[0].Name)
	second, err := duckdb.FileWriter{}.WriteFiles(context.Background(), engine.WriteRequest{
		SQL: `SELECT sum(id) AS total FROM input`, ReadFiles: []string{read}, Dir: dir,
	})
	require.NoError(t, err)
	require.Len(t, second, 1)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 4, "files and nothing else")
}

func TestWriteFilesReadsFilesAsTheyAre(t *testing.T) {
	write := func(dir, sql string, read ...string) string {
		require.NoError(t, os.MkdirAll(dir, 0o755))
		files, err := duckdb.FileWriter{}.WriteFiles(context.Background(), engine.WriteRequest{SQL: sql, ReadFiles: read, Dir: dir})
		require.NoError(t, err)
		require.Len(t, files, 1)
		var names []string
		for _, c := range files[0].Columns {
			names = append(names, c.Path[0])
		}
		slices.Sort(names)
		require.Equal(t, []string{"a", "b"}[:len(names)], names)
		return filepath.Join(dir, files[0].Name)
	}
	root := t.TempDir()
	older := write(filepath.Join(root, "month=1"), `SELECT 1 AS a`)
	newer := write(filepath.Join(root, "month=2"), `SELECT 'x' AS b, 2 AS a`)
	write(root, `SELECT * FROM input`, older, newer)
	write(root, `SELECT * FROM input`, newer, older)
}

func TestWriteFilesLeavesNothingBehindAfterAFailure(t *testing.T) {
	dir, elsewhere := t.TempDir(), filepath.Join(t.TempDir(), "secret.parquet")
	require.NoError(t, os.WriteFile(elsewhere, []byte("x"), 0o600))
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	for name, call := range map[string]struct {
		ctx context.Context
		sql string
	}{
		"a value that cannot be cast": {context.Background(), `SELECT CAST(CASE WHEN i = 90000 THEN 'x' ELSE '1' END AS INTEGER) AS i FROM range(100000) t(i)`},
		"a file it was not given":     {context.Background(), `SELECT * FROM read_parquet(` + engine.QuoteString(elsewhere) + `)`},
		"a cancelled context":         {ctx, `SELECT count(*) AS n FROM range(100000000) a(i), range(100000000) b(j) WHERE i + j = 7`},
	} {
		_, err := duckdb.FileWriter{}.WriteFiles(call.ctx, engine.WriteRequest{SQL: call.sql, Dir: dir})
		var failure *engine.Error
		require.ErrorAs(t, err, &failure, name)
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Empty(t, entries, name)
	}
}
