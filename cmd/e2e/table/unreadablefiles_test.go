package table_test

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/objstore/s3test"
)

// TestUnreadableFilesHaveOneAnswer has a table with a file that is damaged or does not hold
// what the table's columns say. Every route that reads the file answers 409, on local disk and
// in a remote store. Only callers who see all of the table and may modify it learn which file
// and column it is, and why.
func TestUnreadableFilesHaveOneAnswer(t *testing.T) {
	store := s3test.Start(t)
	bucket := store.Bucket(t)
	s := harness.StartS3Server(t)
	made := s.Admin.OK("POST", harness.ConfigsPath, harness.S3Body(store, bucket, object{"workspaceId": s.Boot.WorkspaceID}))
	viewer := s.Member("vera@acme.example", "viewer", nil)
	builder := s.Member("bob@acme.example", "builder", nil)
	contents := unreadableFiles(t)
	columns := []column{{"id", "long"}, {"n", "long"}, {"sm", "short"}, {"name", "string"}, {"tenant", "string"}}
	for where, root := range map[string]string{s.Schema: s.Root, made["schema"].(string): store.Folder(bucket)} {
		for _, c := range contents {
			name := "t_" + c.name
			dir := harness.WriteTable(t, filepath.Join(root, name), goodRows, nil, columns...)
			harness.AppendRows(t, dir, fileRows(""))
			folder := "data" // the first file of the list
			if c.later {
				folder = ""
			}
			files, err := filepath.Glob(filepath.Join(dir, folder, "*.parquet"))
			require.NoError(t, err)
			require.Len(t, files, 1)
			require.NoError(t, os.WriteFile(files[0], c.content, 0o600))
			for _, config := range s.Admin.OK("GET", harness.ConfigsPath, nil)["configs"].([]any) {
				if config := config.(object); config["schema"] == where {
					s.Admin.OK("POST", harness.ConfigsPath+"/"+config["configId"].(string)+"/discover", nil)
				}
			}
			want := map[string]string{"reason": c.reason, "file": path.Join(folder, filepath.Base(files[0])), "column": c.column}
			if c.column == "" {
				delete(want, "column")
			}
			url, table := "/v1/tables/lake/"+where+"/"+name, where+"."+name
			for ask, r := range asksOf(builder, url, table, c.column) {
				require.Equal(t, 409, r.Status, "%s, %s: %s", c.name, ask, r.Body)
				code, _ := r.Problem(t, 409)
				require.Equal(t, "data_file_unreadable", code, "%s: %s", ask, r.Body)
				require.Equal(t, want, r.Details(t), "%s, %s: %s", c.name, ask, r.Body)
			}
			without := func(who *harness.Client, ask string, r harness.Reply) {
				t.Helper()
				require.Equal(t, 409, r.Status, "%s, %s: %s", c.name, ask, r.Body)
				code, _ := r.Problem(t, 409)
				require.Equal(t, "data_file_unreadable", code, "%s: %s", ask, r.Body)
				require.Empty(t, r.Details(t), "%s as %s: %s", ask, who.User, r.Body)
			}
			without(viewer, "query", viewer.Query("SELECT * FROM "+table))
			s.Admin.OK("POST", "/v1/organisations/"+s.Boot.OrganisationID+"/policies", object{
				"kind": "rls", "tableFqn": "lake." + table, "columnName": "tenant",
				"definition": harness.Definition(`{"effect":"permit","subject":{"everyone":true},"condition":{"op":"eq","value":"a"}}`),
			})
			for ask, r := range asksOf(builder, url, table, c.column) {
				// Some routes are for callers who see the whole table. To others a value of another type
				// can look like one that their condition converts.
				if r.Status != 403 && r.Status != 422 && ask != "violations" {
					without(builder, ask, r)
				}
			}
		}
	}
}

const goodRows = `SELECT i AS id, 1 AS n, 2 AS sm, 'n' || i AS name, 'a' AS tenant FROM range(4) t(i)`

// fileRows are rows of a data file, with the columns replaced as more says.
func fileRows(more string) string {
	replaced := ""
	if more != "" {
		replaced = " REPLACE (" + more + ")"
	}
	return "SELECT *" + replaced + " FROM (SELECT 5::BIGINT + i AS id, 7::BIGINT AS n, 3::SMALLINT AS sm, 'x' || i AS name, 'a' AS tenant " +
		"FROM range(3000) t(i))"
}

type unreadableFile struct {
	name, reason, column string
	content              []byte
	// later reports that it is not the first file of the list.
	later bool
}

func unreadableFiles(t *testing.T) []unreadableFile {
	write := func(more string) []byte {
		dir := t.TempDir()
		content, err := os.ReadFile(filepath.Join(dir, harness.WriteFiles(t, dir, fileRows(more), engine.FileLayout{})[0].Name))
		require.NoError(t, err)
		return content
	}
	whole := write("")
	torn := bytes.Clone(whole)
	copy(torn[4:], bytes.Repeat([]byte{0xff}, 40))
	return []unreadableFile{
		{"text", "data_file_mismatch", "n", write("'seven' AS n"), false},
		{"digits", "data_file_mismatch", "n", write("'7' AS n"), false},
		{"laterdigits", "data_file_mismatch", "n", write("'7' AS n"), true},
		{"rounded", "data_file_mismatch", "n", write("1.7::DOUBLE AS n"), true},
		{"range", "data_file_mismatch", "sm", write("70000::INT AS sm"), false},
		{"laterrange", "data_file_mismatch", "sm", write("70000::INT AS sm"), true},
		{"latin", "data_file_text", "name", write(`'Stra\xDFe'::BLOB AS name`), false},
		{"torn", "data_file_damaged", "id", torn, false},
		{"truncated", "data_file_damaged", "", whole[:len(whole)/2], false},
		{"garbage", "data_file_damaged", "", []byte(strings.Repeat("PAR1 not a data file ", 9)), false},
	}
}

// asksOf makes a request to each route that reads a column of every row of a table.
func asksOf(who *harness.Client, path, table, column string) map[string]harness.Reply {
	everywhere := column == ""
	if everywhere {
		column = "name"
	}
	sql := "SELECT max(" + column + ") FROM " + table
	query := func(accept string) harness.Reply {
		return who.Call("POST", "/v1/query", object{"sql": sql}, "Accept", accept)
	}
	who.Call("POST", path+"/constraints", // checks new rows only
		object{"constraints": list{object{"name": "c", "expr": "length(CAST(" + column + " AS STRING)) < 5000"}}})
	out := map[string]harness.Reply{
		"query":    query("application/json"),
		"NDJSON":   query("application/x-ndjson"),
		"CSV":      query("text/csv"),
		"Arrow":    query("application/vnd.apache.arrow.stream"),
		"Parquet":  query("application/vnd.apache.parquet"),
		"rows":     who.Call("GET", path+"/rows?order_by="+column, nil),
		"analysis": who.Call("POST", path+"/analyze", object{"action": "summary"}),
		"update": who.Call("POST", path+"/rows/update?dry_run=true",
			object{"where": "length(" + column + "::VARCHAR) = 5000", "set": object{"tenant": "'b'"}}),
		"delete":     who.Call("POST", path+"/rows/delete?dry_run=true", object{"where": "length(" + column + "::VARCHAR) = 5000"}),
		"optimize":   who.Call("POST", path+"/optimize", object{}),
		"unique":     who.Call("PUT", path+"/columns/"+column+"/settings", object{"isUnique": true}),
		"validate":   who.Call("POST", path+"/constraints/c/validate", nil),
		"violations": who.Call("GET", path+"/violations", nil),
	}
	if everywhere { // statistics exclude the file for other damages
		out["merge"] = who.Call("POST", path+"/rows/merge?on=name&dry_run=true", object{"rows": list{object{"id": 1, "name": "n0"}}})
	}
	if column == "name" {
		out["domain"] = who.Call("PUT", path+"/columns/name/domain/fixed?enforce_existing=true", object{"values": list{"n0"}})
	}
	return out
}

// TestFilesOfTablesReadThroughTheirLogsAreChecked checks that a table with more partitions than a
// list of files holds is not read if a file has another type than its column.
func TestFilesOfTablesReadThroughTheirLogsAreChecked(t *testing.T) {
	t.Parallel()
	store := s3test.Start(t)
	bucket := store.Bucket(t)
	s := harness.StartS3Server(t)
	made := s.Admin.OK("POST", harness.ConfigsPath, harness.S3Body(store, bucket, object{"workspaceId": s.Boot.WorkspaceID}))
	columns := []column{{"n", "long"}, {"s", "struct<a:long,b:long>"}, {"p", "long"}}
	const rows = "SELECT 7::BIGINT AS n, {'a': 1::BIGINT, 'b': 2::BIGINT} AS s, i AS p FROM range(70) t(i)"
	for where, root := range map[string]string{s.Schema: s.Root, made["schema"].(string): store.Folder(bucket)} {
		for name, c := range map[string]struct{ n, s, mismatch string }{
			"text": {"'7'", "{'a': 1::BIGINT, 'b': 2::BIGINT}", "n"}, "rounded": {"1.7::DOUBLE", "{'a': 1::BIGINT, 'b': 2::BIGINT}", "n"},
			"member": {"7::BIGINT", "{'a': 1.7::DOUBLE, 'b': 2::BIGINT}", "s"}, "narrow": {"7::INTEGER", "{'a': 1::INTEGER}", ""},
		} {
			dir := harness.WriteTable(t, filepath.Join(root, name), rows, []string{"p"}, columns...)
			other := t.TempDir()
			written := harness.WriteFiles(t, other, "SELECT "+c.n+" AS n, "+c.s+" AS s", engine.FileLayout{})
			content, err := os.ReadFile(filepath.Join(other, written[0].Name))
			require.NoError(t, err)
			files, err := filepath.Glob(filepath.Join(dir, "*.parquet"))
			require.NoError(t, err)
			require.Len(t, files, 70)
			require.NoError(t, os.WriteFile(files[40], content, 0o600))
			for _, config := range s.Admin.OK("GET", harness.ConfigsPath, nil)["configs"].([]any) {
				if config := config.(object); config["schema"] == where {
					s.Admin.OK("POST", harness.ConfigsPath+"/"+config["configId"].(string)+"/discover", nil)
				}
			}
			for _, column := range []string{"s", "s", "mapped"} {
				if column == "mapped" {
					s.Admin.OK("PATCH", "/v1/tables/lake/"+where+"/"+name+"/columns/s", object{"name": column})
				}
				ask := "SELECT sum(n)::BIGINT AS n, sum(" + column + ".a)::BIGINT AS a FROM " + where + "." + name
				if c.mismatch == "" {
					require.Equal(t, list{list{490.0, 70.0}}, s.Admin.Rows(ask), "%s", where)
					continue
				}
				mismatch := c.mismatch
				if mismatch == "s" {
					mismatch = column
				}
				r := s.Admin.Query(ask)
				require.Equal(t, 409, r.Status, "%s %s: %s", where, name, r.Body)
				code, _ := r.Problem(t, 409)
				require.Equal(t, "data_file_unreadable", code)
				require.Equal(t, map[string]string{"reason": "data_file_mismatch", "column": mismatch,
					"file": filepath.Base(files[40])}, r.Details(t), "%s", r.Body)
			}
			if c.mismatch != "" { // a file that is missing does not keep the others from being checked
				require.NoError(t, os.Remove(files[50]))
				s.Admin.Query("SELECT sum(n)::BIGINT FROM "+where+"."+name).Problem(t, 409)
			}
		}
	}
}
