package policy_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// replacedRows selects the rows of version 1 of the tables that are replaced.
const replacedRows = `SELECT i AS id, CASE WHEN i < 4 THEN 'a' ELSE 'b' END AS tenant, 'SECRET-' || i AS ssn FROM range(10) t(i)`

var replacedColumns = []column{{"id", "long"}, {"tenant", "string"}, {"ssn", "string"}}

// replacedTable makes a table with two versions, to be replaced.
func replacedTable(s *harness.Server, name string) (dir string) {
	s.T.Helper()
	return s.Table(name, replacedRows, nil, replacedColumns...)
}

// replaceWithWords replaces a table by one of other columns, at version 2.
func replaceWithWords(s *harness.Server, name string) {
	s.T.Helper()
	harness.ReplaceTable(s.T, filepath.Join(s.Root, name), "", `SELECT 'w' || i AS word, i AS id FROM range(3) t(i)`, column{"word", "string"},
		column{"id", "long"})
}

// TestVersionsOfAReplacedTableAreRead reads versions of a replaced table if no policies
// apply to either table.
func TestVersionsOfAReplacedTableAreRead(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	replacedTable(s, "t")
	viewer, path := s.Member("v@acme.example", "viewer", nil), s.TablePath("t")
	from := s.Schema + ".t"
	page := viewer.OK("GET", path+"/rows?order_by=id&page_size=4", nil)
	former := s.Admin.OK("GET", path, nil)["tableId"]
	replaceWithWords(s, "t")
	require.Equal(t, 3.0, viewer.Count(from))
	current := s.Admin.OK("GET", path, nil)["tableId"]
	require.NotEqual(t, former, current)

	times := map[float64]string{}
	for _, e := range viewer.OK("GET", path+"/history", nil)["versions"].([]any) {
		entry := e.(object)
		times[entry["version"].(float64)] = entry["timestamp"].(string)
		require.NotEmpty(t, entry["operationParameters"], "%v", entry)
	}
	require.Len(t, times, 3)
	for _, at := range []string{"VERSION => 1", "TIMESTAMP => '" + times[1] + "'"} {
		require.Equal(t, list{list{10.0, "45", "SECRET-9"}}, viewer.Rows(fmt.Sprintf("SELECT count(*), sum(id), max(ssn) FROM %s AT (%s)", from,
			at)))
		require.Len(t, viewer.Rows(fmt.Sprintf("DESCRIBE SELECT * FROM %s AT (%s)", from, at)), 3)
	}
	require.Equal(t, list{list{"w2", "SECRET-2"}},
		viewer.Rows(fmt.Sprintf("SELECT n.word, o.ssn FROM %s n JOIN %[1]s AS o AT (VERSION => 1) USING (id) ORDER BY id DESC LIMIT 1", from)))
	page = viewer.OK("GET", path+"/rows?order_by=id&page_size=4&page_token="+page["next_page_token"].(string), nil)
	require.Equal(t, list{4.0, "b", "SECRET-4"}, page["rows"].([]any)[0], "pages stay at their version")

	builder := s.Member("b@acme.example", "builder", nil)
	builder.OK("POST", path+"/restore", object{"version": 1})
	require.Equal(t, 10.0, viewer.Count(from))
	require.Equal(t, current, s.Admin.OK("GET", path, nil)["tableId"], "the table stays the one that it is")
	s.Admin.Write(path+"/rows", harness.RowsOf(object{"id": 77, "tenant": "c"}))
	builder.OK("POST", path+"/restore", object{"timestamp": times[2]})
	require.Equal(t, 3.0, viewer.Count(from))
	require.Equal(t, 0.0, viewer.Count(from+" AT (VERSION => 0)"))
	harness.DeltaPython(t)(`
import sys, deltalake
dt = deltalake.DeltaTable(sys.argv[1])
assert str(dt.metadata().id) == sys.argv[2], dt.metadata()
table = deltalake.QueryBuilder().register("t", dt).execute("SELECT * FROM t").read_all()
assert table.num_rows == 3, table
dt.load_as_version(3)
table = deltalake.QueryBuilder().register("t", dt).execute("SELECT * FROM t").read_all()
assert table.num_rows == 10, table
`, s.Root+"/t", current.(string))
}

// TestReplacementsOfDeltaRSAreRecognised repeats the test above with a replacement by
// delta-rs.
func TestReplacementsOfDeltaRSAreRecognised(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	replacedTable(s, "t")
	former := s.Admin.OK("GET", s.TablePath("t"), nil)["tableId"]
	harness.DeltaPython(t)(`
import sys, deltalake, pyarrow as pa
deltalake.DeltaTable.create(sys.argv[1], schema=pa.schema([("word", pa.string())]), mode="overwrite")
deltalake.write_deltalake(sys.argv[1], pa.table({"word": ["x"]}), mode="append")
`, s.Root+"/t")
	require.Equal(t, list{list{"x"}}, s.Admin.Rows("SELECT * FROM "+s.Schema+".t"))
	require.NotEqual(t, former, s.Admin.OK("GET", s.TablePath("t"), nil)["tableId"])
	require.Equal(t, 10.0, s.Admin.Count(s.Schema+".t AT (VERSION => 1)"))
	s.Admin.OK("POST", s.TablePath("t")+"/restore", object{"version": 1})
	require.Equal(t, 10.0, s.Admin.Count(s.Schema+".t"))
	harness.DeltaPython(t)(`
import sys, deltalake
dt = deltalake.DeltaTable(sys.argv[1])
assert deltalake.QueryBuilder().register("t", dt).execute("SELECT * FROM t").read_all().num_rows == 10
`, s.Root+"/t")
}

// readingReplaced reads version 1 of a table in every way. token continues a page that was
// begun when version 1 was the newest.
func readingReplaced(s *harness.Server, c *harness.Client, name, token string) map[string]harness.Reply {
	path, from := s.TablePath(name), s.Schema+"."+name
	at := from + " AT (VERSION => 1)"
	return map[string]harness.Reply{
		"rows":     c.Query("SELECT * FROM " + at),
		"count":    c.Query("SELECT count(*) FROM " + at),
		"exists":   c.Query("SELECT EXISTS (FROM " + at + ")"),
		"time":     c.Query("SELECT id FROM " + from + " AT (TIMESTAMP => '2024-01-01 00:00:01')"),
		"empty":    c.Query("SELECT id FROM " + from + " AT (VERSION => 0)"),
		"describe": c.Query("DESCRIBE SELECT * FROM " + at),
		"explain":  c.Query("EXPLAIN SELECT id FROM " + at),
		"summary":  c.Query("SUMMARIZE SELECT * FROM " + at),
		"unknown":  c.Query("SELECT snn FROM " + at),
		"joined":   c.Query("SELECT count(*) FROM " + from + " n, (SELECT * FROM " + at + ") o"),
		"page":     c.Call("GET", path+"/rows?page_size=4&page_token="+token, nil),
		"restore":  c.Call("POST", path+"/restore", object{"version": 1}),
		"restored": c.Call("POST", path+"/restore", object{"timestamp": "2024-01-01T00:00:01Z"}),
	}
}

// TestRestoreOfAReplacedTableKeepsTheCurrentRules checks that keys, constraints and
// policies of the current table stay, and that the restored rows must fulfil them.
func TestRestoreOfAReplacedTableKeepsTheCurrentRules(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	dir, path := s.Table("t", `SELECT i // 2 AS id, i AS age FROM range(4) t(i)`, nil, column{"id", "long"}, column{"age", "long"}),
		s.TablePath("t")
	harness.AppendRows(t, dir, `SELECT 9 AS id, 100 AS age`)
	harness.ReplaceTable(t, dir, "", `SELECT i AS id, i AS age, 'x' || i AS more FROM range(4) t(i)`, column{"id", "long"},
		column{"age", "long"}, column{"more", "string"})
	restore := func(version int) harness.Reply {
		return s.Admin.Call("POST", path+"/restore", object{"version": version})
	}
	s.Admin.OK("PUT", path+"/primary-key", object{"columns": list{"id"}})
	s.Admin.OK("POST", path+"/constraints", object{"constraints": list{object{"name": "young", "expr": "age < 50"}}})
	for version, want := range [][]string{1: {"primaryKey"}, 2: {"constraints", "primaryKey"}} {
		if want == nil {
			continue
		}
		code, fields := restore(version).Problem(t, 409)
		require.Equal(t, "constraint_violation", code)
		require.ElementsMatch(t, want, fields, "version %d", version)
	}
	s.Admin.OK("PUT", path+"/primary-key", object{"columns": list{"more"}})
	code, fields := restore(1).Problem(t, 409)
	require.Equal(t, "column_in_use", code)
	require.Equal(t, []string{"primaryKey"}, fields)
	s.Admin.OK("PUT", path+"/primary-key", object{"columns": list{}})
	p := s.Policy("t", "more", `{"effect":"permit","subject":{"everyone":true},"condition":null}`)
	code, fields = restore(1).Problem(t, 409)
	require.Equal(t, "column_in_use", code)
	require.Equal(t, []string{"policies"}, fields)
	require.Less(t, s.Admin.Call("DELETE", "/v1/organisations/"+s.Boot.OrganisationID+"/policies/"+p["id"].(string)+"?expectedVersion=1",
		nil).Status, 300)
	require.Equal(t, 200, restore(1).Status)
	require.Equal(t, 4.0, s.Admin.Count(s.Schema+".t"))
	code, _ = s.Admin.Call("POST", path+"/rows", harness.RowsOf(object{"id": 1, "age": 99})).Problem(t, 422)
	require.Equal(t, "rule_violation", code)
}
