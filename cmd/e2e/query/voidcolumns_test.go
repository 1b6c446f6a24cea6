package query_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/objstore/file"
)

// voidTable writes a table with the void column v, which files do not have.
func voidTable(s *harness.Server, name string, features []string, properties string) string {
	dir := filepath.Join(s.Root, name)
	fields := []string{harness.SchemaField("id", "long"), harness.SchemaField("v", "void"), harness.SchemaField("who", "string")}
	harness.ForeignTable(s.T, dir, "SELECT i AS id, 'u' || (i % 2) AS who FROM range(10) t(i)", fields, features, properties)
	return dir
}

// TestVoidColumnsAreNULL reads and writes tables with a void column.
func TestVoidColumnsAreNULL(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	vectors, feed := []string{"deletionVectors"}, `"delta.enableDeletionVectors":"true"`
	for name, dir := range map[string]string{
		"rewritten": voidTable(s, "rewritten", nil, ""),
		"vectors":   voidTable(s, "vectors", vectors, feed),
		"feed":      voidTable(s, "feed", []string{}, `"delta.enableChangeDataFeed":"true"`),
	} {
		t.Run(name, func(t *testing.T) {
			if name == "feed" {
				log, err := os.ReadFile(filepath.Join(dir, harness.FirstCommit))
				require.NoError(t, err)
				require.NoError(t, os.WriteFile(filepath.Join(dir, harness.FirstCommit), replaceProtocol(log), 0o600))
			}
			s.Discover()
			from, path := s.Schema+"."+name, s.TablePath(name)
			ana := s.Member("ana-"+name+"@acme.example", "viewer", map[string]string{"who": "u1"})
			s.Policy(name, "who", `{"effect":"permit","subject":{"attribute":"who","op":"eq"},"condition":null}`)
			s.Policy(name, "", `{"effect":"permit","subject":{"role":"admin"},"condition":null}`)
			require.Equal(t, []any{[]any{0.0, nil, "u0"}, []any{1.0, nil, "u1"}}, s.Admin.Rows("SELECT * FROM "+from+" ORDER BY id LIMIT 2"))
			require.Equal(t, []any{[]any{1.0, nil, "u1"}}, ana.Rows("SELECT * FROM "+from+" WHERE v IS NULL AND id < 3"))
			require.Equal(t, []any{[]any{0.0}}, s.Admin.Rows("SELECT count(*) FROM "+from+" WHERE v IS NOT NULL OR v = 1"))
			require.Equal(t, "void", s.Admin.OK("GET", path, nil)["columns"].([]any)[1].(map[string]any)["type"])

			// A value is refused, neither stored nor silently dropped.
			for _, r := range []harness.Reply{
				s.Admin.Call("POST", path+"/rows", harness.RowsOf(object{"id": 10, "v": 1})),
				s.Admin.Call("POST", path+"/rows/update", object{"where": "id = 1", "set": object{"v": "7"}}),
				s.Admin.Call("POST", path+"/rows/merge?on=id", harness.RowsOf(object{"id": 1, "v": 1})),
			} {
				code, _ := r.Problem(t, 422)
				require.Equal(t, "rule_violation", code)
			}
			s.Admin.Write(path+"/rows", harness.RowsOf(object{"id": 10, "v": nil, "who": "u0"}, object{"id": 11, "who": "u1"}))
			s.Admin.Write(path+"/rows/update", object{"where": "id = 1", "set": object{"who": "'x'", "v": "NULL"}})
			s.Admin.Write(path+"/rows/delete", object{"where": "id IN (2, 3)"})
			s.Admin.Write(path+"/rows/merge?on=id", harness.RowsOf(object{"id": 4, "who": "merged"}, object{"id": 20, "who": "u1"}))
			s.Admin.OK("POST", path+"/optimize", object{})
			s.Admin.OK("POST", path+"/columns", object{"name": "more", "type": "long"})
			s.Admin.Write(path+"/rows", harness.RowsOf(object{"id": 21, "who": "u1", "more": 5}))
			want := []any{[]any{12.0, 0.0, 0.0 + 0 + 1 + 4 + 5 + 6 + 7 + 8 + 9 + 10 + 11 + 20 + 21}}
			require.Equal(t, want, s.Admin.Rows("SELECT count(*), count(v), sum(id)::BIGINT FROM "+from))
			require.Equal(t, []any{}, s.Admin.OK("POST", path+"/vacuum", object{})["filesDeleted"])
			require.Equal(t, want, s.Admin.Rows("SELECT count(*), count(v), sum(id)::BIGINT FROM "+from))
			require.Equal(t, []any{[]any{6.0}}, ana.Rows("SELECT count(*) FROM "+from))

			// The schema has the column, and the files do not.
			bucket, err := file.New(dir)
			require.NoError(t, err)
			snap, err := delta.Load(t.Context(), bucket, delta.Options{})
			require.NoError(t, err)
			f, ok := snap.Schema().Field("v")
			require.True(t, ok)
			require.Equal(t, delta.DataType(delta.Void), f.Type)
			for one := range snap.Files() {
				require.NotContains(t, parquetColumns(t, filepath.Join(dir, one.Name)), "v")
				require.NotContains(t, one.Add.Stats, `"v"`)
			}
		})
	}
}

// TestVoidMembersAreNULL checks that void members of structs, which files lack, are read as
// NULL, and that writes of rows to such tables are refused.
func TestVoidMembersAreNULL(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	member := `{"type":"struct","fields":[` + harness.SchemaField("a", "long") + `,` + harness.SchemaField("n", "void") + `]}`
	harness.ForeignTable(t, filepath.Join(s.Root, "t"), "SELECT i AS id, CASE WHEN i > 0 THEN {'a': i} END AS s FROM range(2) t(i)",
		[]string{harness.SchemaField("id", "long"), harness.SchemaField("s", member)}, nil, "")
	// A file of another writer may hold a value of the member nevertheless.
	harness.ForeignTable(t, filepath.Join(s.Root, "odd"), "SELECT i AS id, {'a': i, 'n': 'text'} AS s FROM range(1) t(i)",
		[]string{harness.SchemaField("id", "long"), harness.SchemaField("s", member)}, nil, "")
	harness.ForeignTable(t, filepath.Join(s.Root, "list"), "SELECT i AS id FROM range(1) t(i)",
		[]string{harness.SchemaField("id", "long"), harness.SchemaField("l", `{"type":"array","elementType":"void","containsNull":true}`)}, nil,
		"")
	s.Discover()
	require.Equal(t, []any{[]any{0.0, nil}, []any{1.0, map[string]any{"a": 1.0, "n": nil}}},
		s.Admin.Rows("SELECT * FROM "+s.Schema+".t ORDER BY id"))
	require.Equal(t, []any{[]any{0.0, map[string]any{"a": 0.0, "n": nil}}}, s.Admin.Rows("SELECT * FROM "+s.Schema+".odd ORDER BY id"))
	for name, r := range map[string]harness.Reply{
		"write": s.Admin.Call("POST", s.TablePath("t")+"/rows", harness.RowsOf(object{"id": 3})),
		"read":  s.Admin.Query("SELECT * FROM " + s.Schema + ".list"),
	} {
		code, _ := r.Problem(t, 409)
		require.Equal(t, "unsupported_table_feature", code, name)
		require.Contains(t, string(r.Body), "void columns", name)
	}
}

// replaceProtocol gives a log one whose versions imply a change feed.
func replaceProtocol(log []byte) []byte {
	lines := append([]byte(`{"protocol":{"minReaderVersion":1,"minWriterVersion":4}}`+"\n"), log[indexLine(log):]...)
	return lines
}

func indexLine(log []byte) int {
	for i, b := range log {
		if b == '\n' {
			return i + 1
		}
	}
	return 0
}

// parquetColumns are the columns of a file.
func parquetColumns(t *testing.T, name string) []string {
	t.Helper()
	session, err := harness.FileEngine(t).Open(t.Context(), engine.SessionOptions{Roots: []string{filepath.Dir(name)}})
	require.NoError(t, err)
	defer func() { require.NoError(t, session.Close()) }()
	r, err := session.Query(t.Context(), engine.Statement{SQL: "SELECT * FROM system.main.read_parquet(" + engine.QuoteString(name) + ")"})
	require.NoError(t, err)
	defer r.Close()
	var names []string
	for _, c := range r.Columns() {
		names = append(names, c.Name)
	}
	return names
}
