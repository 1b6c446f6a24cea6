package query_test

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/objstore/file"
)

// mappedTable makes a partitioned table whose files have other names for columns,
// and renames two of them after its rows were written.
func mappedTable(s *harness.Server, name string, properties map[string]string) {
	t := s.T
	properties["delta.columnMapping.mode"] = "name"
	dir := filepath.Join(s.Root, name)
	bucket, err := file.Create(dir)
	require.NoError(t, err)
	snap, err := delta.Create(t.Context(), bucket, delta.CreateOptions{
		Schema: delta.Struct{Fields: []delta.Field{
			{Name: "id", Type: delta.Long, Nullable: true}, {Name: "was", Type: delta.String, Nullable: true},
			{Name: "part", Type: delta.String, Nullable: true},
		}},
		PartitionColumns: []string{"part"}, Properties: properties,
	})
	require.NoError(t, err)
	var items []string
	for i, f := range snap.StoredFields() {
		items = append(items, []string{"i", "'t' || i", "CASE i % 3 WHEN 0 THEN NULL ELSE 'r' || i % 3 END"}[i]+" AS "+engine.QuoteIdent(f.Name))
	}
	stored := snap.StoredFields()[2].Name
	files := harness.WriteFiles(t, dir, "SELECT "+strings.Join(items, ", ")+" FROM range(9) t(i)",
		engine.FileLayout{PartitionBy: []string{stored}})
	txn := snap.Begin(delta.Operation{Name: "WRITE"})
	for _, f := range files {
		require.NoError(t, txn.Add(delta.AddFile{
			Name: f.Name, Size: f.Bytes, ModTime: time.Now(), PartitionValues: map[string]*string{"part": f.Partition[stored]},
		}))
	}
	snap, err = txn.Commit(t.Context())
	require.NoError(t, err)
	a := snap.Alter()
	require.NoError(t, a.RenameColumn([]string{"was"}, "now"))
	require.NoError(t, a.RenameColumn([]string{"part"}, "region"))
	change, err := a.Change()
	require.NoError(t, err)
	txn = snap.Begin(delta.Operation{Name: "RENAME COLUMN"})
	txn.Alter(change)
	_, err = txn.Commit(t.Context())
	require.NoError(t, err)
}

// TestMappedAndPartitionedTables checks that callers who see all rows and callers who see
// some get the values of partition columns, which the engine's own reader of the log
// would lose.
func TestMappedAndPartitionedTables(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	mappedTable(s, "mapped", map[string]string{})
	mappedTable(s, "vectors", map[string]string{"delta.enableDeletionVectors": "true"})
	s.Discover()
	ana := s.Member("ana@acme.example", "viewer", map[string]string{"region": "r2"})
	for _, name := range []string{"mapped", "vectors"} {
		s.Policy(name, "region", `{"effect":"permit","subject":{"attribute":"region","op":"eq"},"condition":null}`)
		s.Policy(name, "", `{"effect":"permit","subject":{"role":"admin"},"condition":null}`)
	}
	from := " FROM " + s.Schema + ".mapped"
	require.Equal(t, []any{[]any{0.0, "t0", nil}, []any{1.0, "t1", "r1"}, []any{2.0, "t2", "r2"}},
		s.Admin.Rows("SELECT id, now, region"+from+" ORDER BY id LIMIT 3"))
	require.Equal(t, []any{[]any{3.0, 4.0}}, s.Admin.Rows("SELECT count(*), avg(id)"+from+" WHERE region = 'r1'"))
	require.Equal(t, []any{[]any{2.0, "t2", "r2"}, []any{5.0, "t5", "r2"}, []any{8.0, "t8", "r2"}}, ana.Rows("SELECT *"+from+" ORDER BY id"))
	require.Equal(t, []any{[]any{0.0}}, ana.Rows("SELECT count(*)"+from+" WHERE region IS NULL"))

	// The same with rows that are gone although files still hold them.
	from = " FROM " + s.Schema + ".vectors"
	require.Equal(t, []any{[]any{9.0, 6.0}}, s.Admin.Rows("SELECT count(*), count(region)"+from))
	require.Equal(t, []any{[]any{2.0, "t2", "r2"}, []any{5.0, "t5", "r2"}, []any{8.0, "t8", "r2"}}, ana.Rows("SELECT *"+from+" ORDER BY id"))
}

// TestRowsOfMappedTablesAreWritten writes to tables whose files have other names for
// columns, some of which hide deleted rows and keep a feed of changes.
func TestRowsOfMappedTablesAreWritten(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	for name, properties := range map[string]object{
		"byname": {"delta.columnMapping.mode": "name"},
		"byid":   {"delta.columnMapping.mode": "id", "delta.enableDeletionVectors": "true"},
		"feed":   {"delta.columnMapping.mode": "name", "delta.enableDeletionVectors": "true", "delta.enableChangeDataFeed": "true"},
	} {
		path := s.Create(name, object{"properties": properties, "partition_by": list{"p"}}, harness.Col("id", "long", "isPrimaryKey", true),
			harness.Col("v", "string"), harness.Col("p", "string"))
		table := s.Schema + "." + name
		s.Admin.Write(path+"/rows", harness.RowsOf(object{"id": 1, "v": "a", "p": "x"}, object{"id": 2, "v": "b", "p": "x"},
			object{"id": 3, "v": "c"}, object{"id": 4, "v": "d", "p": "y"}))
		s.Admin.Write(path+"/rows/delete", object{"where": "id = 2"})
		s.Admin.Write(path+"/rows/update", object{"where": "id = 1 AND v <> 'b'", "set": object{"v": "v || '+'"}})
		s.Admin.Write(path+"/rows/merge", harness.RowsOf(object{"id": 3, "v": "m", "p": "y"}, object{"id": 5, "v": "n", "p": "x"}))
		require.Equal(t, list{list{1.0, "a+", "x"}, list{3.0, "m", "y"}, list{4.0, "d", "y"}, list{5.0, "n", "x"}},
			s.Admin.Rows("SELECT id, v, p FROM "+table+" ORDER BY id"), name)
		code, _ := s.Admin.Call("POST", path+"/rows", harness.RowsOf(object{"id": 3})).Problem(t, 409)
		require.Equal(t, "key_conflict", code)
		// A key is free again when its row is gone; an expression that would fail on
		// a row that is gone does not fail.
		s.Admin.Write(path+"/rows", harness.RowsOf(object{"id": 2, "v": "7", "p": "x"}))
		require.Equal(t, list{list{1.0}}, s.Admin.Rows("SELECT count(*) FROM "+table+
			" WHERE id = 2 AND CAST(CASE WHEN id = 2 THEN v ELSE '0' END AS INTEGER) = 7"), name)
	}
}

// TestMappedTablesOfNestedColumnsAreWritten renames a column of a table with a map, two
// arrays and nested arrays, and writes to it in every way: elements, keys and values
// have no field id of their own.
func TestMappedTablesOfNestedColumnsAreWritten(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	path := s.Create("nested", nil, map[string]any{"name": "id", "type": "long"},
		map[string]any{"name": "m", "type": "map<string,long>"}, map[string]any{"name": "a", "type": "array<long>"},
		map[string]any{"name": "b", "type": "array<string>"}, map[string]any{"name": "aa", "type": "array<array<map<string,struct<x:long>>>>"})
	row := func(id int) map[string]any {
		return map[string]any{
			"id": id, "m": map[string]any{"k": id}, "a": []int{id, id + 1}, "b": []string{"x"},
			"aa": []any{[]any{map[string]any{"y": map[string]any{"x": id}}}},
		}
	}
	s.Admin.Write(path+"/rows", map[string]any{"rows": []any{row(1)}})
	s.Admin.OK(http.MethodPatch, path+"/columns/a", map[string]any{"name": "renamed"})
	mapped := func(id int) map[string]any {
		r := row(id)
		r["renamed"] = r["a"]
		delete(r, "a")
		return r
	}
	s.Admin.Write(path+"/rows", map[string]any{"rows": []any{mapped(2)}})
	s.Admin.Write(path+"/rows/merge", map[string]any{"on": []string{"id"}, "rows": []any{mapped(1), mapped(3)}})
	s.Admin.Write(path+"/rows/update", map[string]any{"where": "id = 2", "set": map[string]any{"m": "MAP {'k': 20}"}})
	s.Admin.OK(http.MethodPost, path+"/optimize", map[string]any{})
	got := s.Admin.Rows("SELECT id, m['k'], renamed[2], b[1], aa[1][1]['y'].x FROM lake." + s.Schema + ".nested ORDER BY id")
	require.Equal(t, []any{[]any{1.0, 1.0, 2.0, "x", 1.0}, []any{2.0, 20.0, 3.0, "x", 2.0}, []any{3.0, 3.0, 4.0, "x", 3.0}}, got)
}
