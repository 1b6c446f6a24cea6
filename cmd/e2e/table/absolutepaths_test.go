package table_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
	"github.com/lakewarden/lakewarden/engine"
)

// storedAt returns the URI by which other programs name the folder of a table.
func storedAt(s *harness.Server, dir string) string {
	if s.Config.Store == "s3" {
		return "s3a://" + filepath.Base(s.Root) + "/" + filepath.Base(dir)
	}
	return "file://" + dir
}

// absoluteTable writes a table of three files of ten rows, whose log names two by
// absolute URIs below base.
func absoluteTable(s *harness.Server, name, base string) string {
	dir := filepath.Join(s.Root, name)
	var lines []string
	harness.ForeignTable(s.T, dir, "SELECT 0::BIGINT AS id, 'a' AS who WHERE false",
		[]string{harness.SchemaField("id", "long"), harness.SchemaField("who", "string")}, nil, "")
	for i := range 3 {
		f := harness.WriteFiles(s.T, dir, fmt.Sprintf("SELECT %d + i AS id, 'u' || (i %% 2) AS who FROM range(10) t(i)", 10*i),
			engine.FileLayout{})[0]
		path := f.Name
		if i > 0 {
			path = base + "/" + f.Name
		}
		lines = append(lines, fmt.Sprintf(`{"add":{"path":%q,"partitionValues":{},"size":%d,"modificationTime":1,"dataChange":true,`+
			`"stats":"{\"numRecords\":10,\"minValues\":{\"id\":%d},\"maxValues\":{\"id\":%d}}"}}`,
			path, f.Bytes, 10*i, 10*i+9))
	}
	require.NoError(s.T, os.WriteFile(filepath.Join(dir, "_delta_log", "00000000000000000001.json"), []byte(strings.Join(lines, "\n")+"\n"),
		0o600))
	return dir
}

// TestTablesWithAbsolutePathsAreReadAndChanged reads and changes tables whose log has
// absolute paths into the table's folder, and checks that other absolute paths are
// refused.
func TestTablesWithAbsolutePathsAreReadAndChanged(t *testing.T) {
	t.Parallel()
	for _, store := range []string{"local", "s3"} {
		t.Run(store, func(t *testing.T) {
			s := harness.Start(t, func(c *harness.Settings) { c.Store = store })
			dir := filepath.Join(s.Root, "t")
			absoluteTable(s, "t", storedAt(s, dir))
			absoluteTable(s, "t2", storedAt(s, dir)) // the files of t2 are in t
			found := s.Discover()
			require.EqualValues(t, 1.0, found["tablesAdded"], "%v", found)
			from := s.Schema + ".t"
			ana := s.Member("ana@acme.example", "viewer", map[string]string{"who": "u1"})
			s.Policy("t", "who", `{"effect":"permit","subject":{"attribute":"who","op":"eq"},"condition":null}`)
			s.Policy("t", "", `{"effect":"permit","subject":{"role":"admin"},"condition":null}`)
			is := func(rows, sum float64) {
				t.Helper()
				require.Equal(t, []any{[]any{rows, sum}}, s.Admin.Rows("SELECT count(*), sum(id)::BIGINT FROM "+from))
			}
			is(30, 435)
			require.Equal(t, []any{[]any{15.0}}, ana.Rows("SELECT count(*) FROM "+from))
			require.Equal(t, []any{[]any{25.0, "u1"}}, ana.Rows("SELECT id, who FROM "+from+" WHERE id BETWEEN 24 AND 26"))
			require.Equal(t, []any{[]any{0.0}}, s.Admin.Rows("SELECT count(*) FROM "+from+" AT (VERSION => 0)"))
			s.Admin.Query("SELECT * FROM "+s.Schema+".t2").Problem(t, 400)

			// A row of each file is updated, and one is deleted.
			path := s.TablePath("t")
			s.Admin.Write(path+"/rows/update", object{"where": "id % 10 = 3", "set": object{"id": "id + 1000"}})
			s.Admin.Write(path+"/rows/delete", object{"where": "id IN (5, 15, 25)"})
			is(27, 435+3000-45)
			s.Admin.Write(path+"/rows", harness.RowsOf(object{"id": 5}, object{"id": 15}, object{"id": 25}))
			is(30, 3435)
			require.Equal(t, []any{[]any{12.0}}, ana.Rows("SELECT count(*) FROM "+from))
			s.Admin.OK("POST", path+"/optimize", object{})
			is(30, 3435)

			// The files of older versions stay until they are older than the retention.
			require.Equal(t, []any{}, s.Admin.OK("POST", path+"/vacuum", object{})["filesDeleted"])
			require.Equal(t, []any{[]any{30.0}}, s.Admin.Rows("SELECT count(*) FROM "+from+" AT (VERSION => 1)"))
			s.Admin.OK("POST", path+"/restore", object{"version": 1})
			is(30, 435)
			gone := s.Admin.OK("POST", path+"/vacuum", object{"retention_hours": 0, "enforce_retention_duration": false})["filesDeleted"].([]any)
			require.NotEmpty(t, gone)
			is(30, 435)
		})
	}
}

// TestAbsolutePathsThatLeaveTheTableAreRefused checks that no file outside the table's
// own folder is read, in whatever way an absolute path leads there.
func TestAbsolutePathsThatLeaveTheTableAreRefused(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	dir := absoluteTable(s, "t", storedAt(s, filepath.Join(s.Root, "t")))
	s.Discover()
	other := s.Table("other", "SELECT 1 AS id", nil, column{"id", "long"})
	secret := filepath.Base(harness.DataFiles(t, other)[0])
	require.NoError(t, os.Symlink(other, filepath.Join(dir, "link")))
	log := filepath.Join(dir, "_delta_log", "00000000000000000002.json")
	for _, path := range []string{
		other + "/" + secret, "file://" + other + "/" + secret, "file://" + dir + "/../other/" + secret, "file://" + dir + "/%2E%2E/other/" +
			secret,
		"file://" + dir + "/link/" + secret, "file://" + dir + "2/" + secret,
	} {
		require.NoError(t, os.WriteFile(log, []byte(fmt.Sprintf(`{"add":{"path":%q,"partitionValues":{},"size":1,"modificationTime":1,`+
			`"dataChange":true}}`+"\n", path)), 0o600))
		r := s.Admin.Query("SELECT count(*) FROM " + s.Schema + ".t")
		code, _ := r.Problem(t, 409)
		require.Equal(t, "unsupported_table_feature", code, path)
		require.NotContains(t, string(r.Body), s.Root)
		require.NoError(t, os.Remove(log))
	}
}
