package query_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	pqschema "github.com/apache/arrow-go/v18/parquet/schema"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
	"github.com/lakewarden/lakewarden/engine/delta"
	objfile "github.com/lakewarden/lakewarden/engine/objstore/file"
)

// TestFileThatCrashesTheEngineFailsOneStatement reads lists as old writers lay
// them out, on which the engine may fail one of its own assertions. The
// statement may fail; the next one works, for everybody.
func TestFileThatCrashesTheEngineFailsOneStatement(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	dir := s.Table("old", `SELECT [1::BIGINT] AS list`, nil, column{"list", "array<long>"})
	s.Table("well", `SELECT i AS id FROM range(3) t(i)`, nil, column{"id", "long"})
	name := writeLegacyLists(t, dir)
	bucket, err := objfile.New(dir)
	require.NoError(t, err)
	snap, err := delta.Load(t.Context(), bucket, delta.Options{})
	require.NoError(t, err)
	info, err := os.Stat(filepath.Join(dir, name))
	require.NoError(t, err)
	txn := snap.Begin(delta.Operation{Name: "WRITE"})
	require.NoError(t, txn.Add(delta.AddFile{Name: name, Size: info.Size(), ModTime: time.Now()}))
	_, err = txn.Commit(t.Context())
	require.NoError(t, err)

	ana := s.Member("ana@acme.example", "viewer", nil)
	for _, sql := range []string{"SELECT * FROM main_data.old", "SELECT sum(len(list)) FROM main_data.old",
		"SELECT unnest(list) FROM main_data.old", "SUMMARIZE main_data.old"} {
		r := s.Admin.Query(sql)
		if r.Status != 200 {
			code, fields := r.Problem(t, r.Status)
			require.Contains(t, []string{"engine_failed", "engine_cannot"}, code, sql)
			require.Empty(t, fields)
			require.NotContains(t, string(r.Body), "Vector")
			require.Equal(t, code == "engine_failed", r.Header.Get("Retry-After") != "")
		}
		require.Equal(t, 3.0, s.Admin.Count("main_data.well"), sql)
		require.Equal(t, 3.0, ana.Count("main_data.well"), sql)
	}
}

// writeLegacyLists writes two rows, [1, 2] and [3], as
// optional group list (LIST) { repeated group bag { optional int64 array } }.
func writeLegacyLists(t *testing.T, dir string) string {
	t.Helper()
	item := pqschema.NewInt64Node("array", parquet.Repetitions.Optional, -1)
	bag, err := pqschema.NewGroupNode("bag", parquet.Repetitions.Repeated, pqschema.FieldList{item}, -1)
	require.NoError(t, err)
	list, err := pqschema.NewGroupNodeConverted("list", parquet.Repetitions.Optional, pqschema.FieldList{bag}, pqschema.ConvertedTypes.List,
		-1)
	require.NoError(t, err)
	root, err := pqschema.NewGroupNode("schema", parquet.Repetitions.Required, pqschema.FieldList{list}, -1)
	require.NoError(t, err)
	const name = "legacy.parquet"
	out, err := os.Create(filepath.Join(dir, name))
	require.NoError(t, err)
	w := file.NewParquetWriter(out, root)
	col, err := w.AppendRowGroup().NextColumn()
	require.NoError(t, err)
	_, err = col.(*file.Int64ColumnChunkWriter).WriteBatch([]int64{1, 2, 3}, []int16{3, 3, 3}, []int16{0, 1, 0})
	require.NoError(t, err)
	require.NoError(t, w.Close()) // closes the file too
	return name
}
