package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
)

// storedAt returns the URI by which other programs name the folder of a table.
func (s *testServer) storedAt(dir string) string {
	if s.config.Store == "s3" {
		return "s3a://" + filepath.Base(s.root) + "/" + filepath.Base(dir)
	}
	return "file://" + dir
}

// absoluteTable writes a table of three files of ten rows, whose log names two by
// absolute URIs below base.
func absoluteTable(s *testServer, name, base string) string {
	dir := filepath.Join(s.root, name)
	var lines []string
	foreignTable(s.t, dir, "SELECT 0::BIGINT AS id, 'a' AS who WHERE false", []string{schemaField("id", "long"), schemaField("who", "string")}, nil, "")
	for i := range 3 {
		f := writeFiles(s.t, dir, fmt.Sprintf("SELECT %d + i AS id, 'u' || (i %% 2) AS who FROM range(10) t(i)", 10*i), engine.FileLayout{})[0]
		path := f.Name
		if i > 0 {
			path = base + "/" + f.Name
		}
		lines = append(lines, fmt.Sprintf(`{"add":{"path":%q,"partitionValues":{},"size":%d,"modificationTime":1,"dataChange":true,"stats":"{\"numRecords\":10,\"minValues\":{\"id\":%d},\"maxValues\":{\"id\":%d}}"}}`,
			path, f.Bytes, 10*i, 10*i+9))
	}
	require.NoError(s.t, os.WriteFile(filepath.Join(dir, "_delta_log", "00000000000000000001.json"), []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	return dir
}

// TestTablesWithAbsolutePathsAreReadAndChanged reads and changes tables whose log has
// absolute paths into the table's folder, and checks that other absolute paths are
// refused.
func TestTablesWithAbsolutePathsAreReadAndChanged(t *testing.T) {
	for _, store := range []string{"local", "s3"} {
		t.Run(store, func(t *testing.T) {
			s := startServer(t, func(c *settings) { c.Store = store })
			dir := filepath.Join(s.root, "t")
			absoluteTable(s, "t", s.storedAt(dir))
			absoluteTable(s, "t2", s.storedAt(dir)) // the files of t2 lie in t
			require.EqualValues(t, 1.0, s.discover()["tablesAdded"])
			from := s.schema + ".t"
			ana := s.member("ana@acme.example", "viewer", map[string]string{"who": "u1"})
			s.policy("t", "who", `{"effect":"permit","subject":{"attribute":"who","op":"eq"},"condition":null}`)
			s.policy("t", "", `{"effect":"permit","subject":{"role":"admin"},"condition":null}`)
			is := func(rows, sum float64) {
				t.Helper()
				require.Equal(t, []any{[]any{rows, sum}}, s.admin.rows("SELECT count(*), sum(id)::BIGINT FROM "+from))
			}
			is(30, 435)
			require.Equal(t, []any{[]any{15.0}}, ana.rows("SELECT count(*) FROM "+from))
			require.Equal(t, []any{[]any{25.0, "u1"}}, ana.rows("SELECT id, who FROM "+from+" WHERE id BETWEEN 24 AND 26"))
			require.Equal(t, []any{[]any{0.0}}, s.admin.rows("SELECT count(*) FROM "+from+" AT (VERSION => 0)"))
			s.admin.query("SELECT * FROM "+s.schema+".t2").problem(t, 400)

			// A row of each file is updated, and one is deleted.
			path := s.tablePath("t")
			s.admin.write(path+"/rows/update", object{"where": "id % 10 = 3", "set": object{"id": "id + 1000"}})
			s.admin.write(path+"/rows/delete", object{"where": "id IN (5, 15, 25)"})
			is(27, 435+3000-45)
			s.admin.write(path+"/rows", rowsOf(object{"id": 5}, object{"id": 15}, object{"id": 25}))
			is(30, 3435)
			require.Equal(t, []any{[]any{12.0}}, ana.rows("SELECT count(*) FROM "+from))
			s.admin.ok("POST", path+"/optimize", object{})
			is(30, 3435)

			// The files of older versions stay until they are older than the retention.
			require.Equal(t, []any{}, s.admin.ok("POST", path+"/vacuum", object{})["filesDeleted"])
			require.Equal(t, []any{[]any{30.0}}, s.admin.rows("SELECT count(*) FROM "+from+" AT (VERSION => 1)"))
			s.admin.ok("POST", path+"/restore", object{"version": 1})
			is(30, 435)
			gone := s.admin.ok("POST", path+"/vacuum", object{"retention_hours": 0, "enforce_retention_duration": false})["filesDeleted"].([]any)
			require.NotEmpty(t, gone)
			is(30, 435)
		})
	}
}

// TestAbsolutePathsThatLeaveTheTableAreRefused checks that no file outside the table's
// own folder is read, in whatever way an absolute path leads there.
func TestAbsolutePathsThatLeaveTheTableAreRefused(t *testing.T) {
	s := startServer(t, nil)
	dir := absoluteTable(s, "t", s.storedAt(filepath.Join(s.root, "t")))
	s.discover()
	other := s.table("other", "SELECT 1 AS id", nil, column{"id", "long"})
	secret := filepath.Base(dataFiles(t, other)[0])
	require.NoError(t, os.Symlink(other, filepath.Join(dir, "link")))
	log := filepath.Join(dir, "_delta_log", "00000000000000000002.json")
	for _, path := range []string{
		other + "/" + secret, "file://" + other + "/" + secret, "file://" + dir + "/../other/" + secret, "file://" + dir + "/%2E%2E/other/" + secret,
		"file://" + dir + "/link/" + secret, "file://" + dir + "2/" + secret,
	} {
		require.NoError(t, os.WriteFile(log, []byte(fmt.Sprintf(`{"add":{"path":%q,"partitionValues":{},"size":1,"modificationTime":1,"dataChange":true}}`+"\n", path)), 0o600))
		r := s.admin.query("SELECT count(*) FROM " + s.schema + ".t")
		code, _ := r.problem(t, 409)
		require.Equal(t, "unsupported_table_feature", code, path)
		require.NotContains(t, string(r.body), s.root)
		require.NoError(t, os.Remove(log))
	}
}
