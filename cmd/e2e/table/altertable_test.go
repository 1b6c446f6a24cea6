package table_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

func TestColumnsAreAddedChangedAndDropped(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	dir := s.Table("people", harness.PeopleRows, nil, harness.PeopleColumns...)
	path, from := s.TablePath("people"), " FROM "+s.Schema+".people"
	refused := func(status int, code, field, method, below string, body any) {
		t.Helper()
		before := s.Admin.Version(path)
		got, fields := s.Admin.Call(method, path+below, body).Problem(t, status)
		require.Equal(t, code, got)
		require.Contains(t, fields, field)
		require.Equal(t, before, s.Admin.Version(path), "nothing was committed")
	}

	// Added columns are NULL in the rows that are there, and take values.
	version := s.Admin.Version(path)
	got := s.Admin.OK("POST", path+"/columns", object{"name": "Note", "type": "string", "comment": "it's new"})
	require.Equal(t, version+1, got["version"])
	require.Equal(t, []string{"id", "a", "b", "name", "kind", "gap", "list", "Note"}, harness.ColumnsIn(got))
	require.Equal(t, list{list{10.0, 0.0}}, s.Admin.Rows("SELECT count(*), count(note)"+from))
	s.Admin.Write(path+"/rows", harness.RowsOf(object{"id": 10, "note": "first"}))
	require.Equal(t, list{list{9.0, nil}, list{10.0, "first"}}, s.Admin.Rows("SELECT id, Note"+from+" WHERE id > 8 ORDER BY id"))
	refused(409, "already_exists", "name", "POST", "/columns", object{"name": "NOTE", "type": "long"})
	refused(422, "invalid_field", "nullable", "POST", "/columns", object{"name": "x", "type": "long", "nullable": false})
	refused(422, "invalid_field", "type", "POST", "/columns", object{"name": "x", "type": "point"})
	refused(422, "invalid_field", "name", "POST", "/columns", object{"name": "a b;", "type": "long"})
	refused(422, "invalid_field", "type", "POST", "/columns", object{"name": "x", "type": "variant"})
	require.Equal(t, 422, s.Admin.Call("POST", path+"/columns", object{"name": "x", "type": "long", "default": 1}).Status)

	// A rule that names a column keeps its name and type; its comment may change.
	s.Admin.OK("POST", path+"/constraints", object{"constraints": list{object{"name": "small", "expr": "b < 100"}}})
	s.Admin.OK("PUT", path+"/columns/id/settings", object{"isPrimaryKey": true})
	refused(409, "column_in_use", "constraints", "PATCH", "/columns/B", object{"name": "bb"})
	refused(409, "column_in_use", "constraints", "PATCH", "/columns/b", object{"type": "decimal(30,0)"})
	refused(409, "column_in_use", "constraints", "DELETE", "/columns/b", nil)
	refused(409, "column_in_use", "primaryKey", "DELETE", "/columns/id", nil)
	refused(422, "invalid_field", "type", "PATCH", "/columns/a", object{"type": "integer"})
	refused(409, "already_exists", "name", "PATCH", "/columns/a", object{"name": "KIND"})
	require.Equal(t, 404, s.Admin.Call("PATCH", path+"/columns/nobody", object{"name": "x"}).Status)
	require.Equal(t, 404, s.Admin.Call("DELETE", path+"/columns/nobody", nil).Status)
	version = s.Admin.Version(path)
	require.Equal(t, version+1, s.Admin.OK("PATCH", path+"/columns/b", object{"comment": "small ones"})["version"])
	require.Equal(t, version+1, s.Admin.OK("PATCH", path+"/columns/b", object{"comment": "small ones", "name": "b",
		"type": "long"})["version"], "nothing changes")

	// Renamed and dropped columns: files keep what they have.
	got = s.Admin.OK("PATCH", path+"/columns/a", object{"name": "half of id"})
	require.True(t, got["columnsMapped"].(bool))
	require.Equal(t, []string{"id", "half of id", "b", "name", "kind", "gap", "list", "Note"}, harness.ColumnsIn(got))
	require.Equal(t, list{list{8.0, 4.0}}, s.Admin.Rows(`SELECT id, "half of id"`+from+" WHERE id = 8"))
	s.Admin.Write(path+"/rows", harness.RowsOf(object{"id": 11, "half of id": 5, "b": 1, "kind": "mapped"}))
	require.Equal(t, list{list{8.0, 4.0}, list{11.0, 5.0}}, s.Admin.Rows(`SELECT id, "half of id"`+from+" WHERE id IN (8, 11) ORDER BY id"))
	code, _ := s.Admin.Call("POST", path+"/rows", harness.RowsOf(object{"id": 8, "b": 1})).Problem(t, 409)
	require.Equal(t, "key_conflict", code)
	require.Equal(t, 400, s.Admin.Query("SELECT a"+from).Status)
	s.Admin.OK("PATCH", path+"/columns/id", object{"name": "key"})
	primary, _, _ := s.Admin.Flags(path, "key")
	require.True(t, primary, "the key follows its column")
	got = s.Admin.OK("DELETE", path+"/columns/kind", nil)
	require.Equal(t, []string{"key", "half of id", "b", "name", "gap", "list", "Note"}, harness.ColumnsIn(got))
	require.Equal(t, 400, s.Admin.Query("SELECT kind"+from).Status)
	s.Admin.OK("POST", path+"/columns", object{"name": "kind", "type": "long"})
	require.Equal(t, list{list{12.0, 0.0}}, s.Admin.Rows("SELECT count(*), count(kind)"+from), "what was dropped does not come back")
	harness.DeltaPython(t)(`
import sys, deltalake, pyarrow
dt = deltalake.DeltaTable(sys.argv[1])
names = [f.name for f in dt.schema().fields]
assert names == ["key", "half of id", "b", "name", "gap", "list", "Note", "kind"], names
table = deltalake.QueryBuilder().register("t", dt).execute('SELECT * FROM t ORDER BY "key"')
rows = pyarrow.table(table.read_all()).to_pylist()
assert len(rows) == 12 and rows[8]["half of id"] == 4 and rows[11]["half of id"] == 5 and rows[10]["Note"] == "first" and rows[8]["kind"] is None, rows
`, dir)

	// The version before the mapping takes rows too.
	got = s.Admin.OK("POST", path+"/restore", object{"version": version + 1})
	require.False(t, got["columnsMapped"].(bool))
	require.Equal(t, []string{"id", "a", "b", "name", "kind", "gap", "list", "Note"}, harness.ColumnsIn(got))
	s.Admin.Write(path+"/rows", harness.RowsOf(object{"id": 11, "a": 5, "b": 1, "kind": "new"}))
	require.Equal(t, list{list{8.0, 4.0, "same"}, list{11.0, 5.0, "new"}},
		s.Admin.Rows("SELECT id, a, kind"+from+" WHERE id IN (8, 11) ORDER BY id"))

	viewer := s.Member("v@acme.example", "viewer", nil)
	require.Equal(t, 403, viewer.Call("DELETE", path+"/columns/name", nil).Status)
	require.Equal(t, 403, viewer.Call("POST", path+"/restore", object{"version": 0}).Status)
}

func TestWidenedColumnsAreReadRight(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	s.Table("n", `SELECT i::INT AS i, (i * 1.5)::FLOAT AS f, 'x' AS s FROM range(100) t(i)`, nil, column{"i", "integer"}, column{"f", "float"},
		column{"s", "string"})
	path, from := s.TablePath("n"), " FROM "+s.Schema+".n"
	got := s.Admin.OK("PATCH", path+"/columns/i", object{"type": "long"})
	require.Equal(t, "long", got["columns"].(list)[0].(map[string]any)["type"])
	s.Admin.OK("PATCH", path+"/columns/f", object{"type": "DOUBLE"})
	s.Admin.Write(path+"/rows", harness.RowsOf(object{"i": "9007199254740993", "f": 0.1, "s": "y"}))
	require.Equal(t, list{list{"BIGINT", "DOUBLE"}}, s.Admin.Rows("SELECT DISTINCT typeof(i), typeof(f)"+from))
	require.Equal(t, list{list{4950.0, 7425.0}}, s.Admin.Rows("SELECT sum(i)::DOUBLE, sum(f)"+from+" WHERE s = 'x'"))
	require.Equal(t, list{list{"9007199254740993", 0.1}}, s.Admin.Rows("SELECT i::VARCHAR, f"+from+" WHERE i > 2147483647"))
	require.Equal(t, list{list{7.0, 10.5}}, s.Admin.Rows("SELECT i, f"+from+" WHERE i = 7"))
}

// TestNoChangeOfColumnsRemovesAPolicy checks that a column that a policy names cannot be
// dropped, whoever the policy is for and whether it is enabled or not.
func TestNoChangeOfColumnsRemovesAPolicy(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	s.Table("wide", harness.MaskedRows, nil, column{"id", "long"}, column{"name", "string"}, column{"ssn", "string"}, column{"pay", "double"},
		column{"home", "struct<city:string,zip:integer>"})
	path := s.TablePath("wide")
	s.Admin.OK("PATCH", path+"/columns/ssn", object{"name": "number"})
	former := s.Admin.Version(path) - 1
	s.Rule("cls", "wide", "number", harness.ViewersNot)
	s.Rule("mask", "wide", "NAME", `{"effect":"forbid","subject":{"role":"viewer"},"mask":"hash"}`)
	rows := s.Policy("wide", "", `{"effect":"permit","subject":{"everyone":true},"condition":{"column":"id","op":"gte","value":0}}`)
	s.Admin.OK("PATCH", "/v1/organisations/"+s.Boot.OrganisationID+"/policies/"+rows["id"].(string),
		object{"enabled": false, "expectedVersion": 1})
	version := s.Admin.Version(path)
	for _, column := range []string{"number", "name", "id"} {
		r := s.Admin.Call("DELETE", path+"/columns/"+column, nil)
		code, fields := r.Problem(t, 409)
		require.Equal(t, "column_in_use", code)
		require.Equal(t, []string{"policies"}, fields, "%s", r.Body)
	}
	require.Contains(t, string(s.Admin.Call("DELETE", path+"/columns/id", nil).Body), rows["id"].(string))
	code, fields := s.Admin.Call("POST", path+"/restore", object{"version": former}).Problem(t, 409)
	require.Equal(t, "column_in_use", code, "there the column had another name")
	require.Equal(t, []string{"policies"}, fields)
	require.Equal(t, version, s.Admin.Version(path))

	// Who does not see a column cannot change it, and who does not see all can neither
	// change a column that a policy reads nor bring a version back.
	s.Rule("cls", "wide", "home", `{"effect":"forbid","subject":{"role":"builder"}}`)
	ben := s.Member("ben@acme.example", "builder", nil)
	require.Equal(t, 404, ben.Call("PATCH", path+"/columns/home", object{"comment": "x"}).Status)
	require.Equal(t, 404, ben.Call("DELETE", path+"/columns/home", nil).Status)
	for _, column := range []string{"number", "name", "id"} {
		code, _ = ben.Call("PATCH", path+"/columns/"+column, object{"comment": "x"}).Problem(t, 403)
		require.Equal(t, "table_partly_visible", code, column)
	}
	require.Equal(t, []string{"id", "name", "number", "pay"}, harness.ColumnsIn(ben.OK("PATCH", path+"/columns/pay", object{"comment": "x"})))
	code, _ = ben.Call("POST", path+"/restore", object{"version": version}).Problem(t, 403)
	require.Equal(t, "table_partly_visible", code)
	require.Equal(t, version+1, s.Admin.Version(path))
}

func TestRestoreBringsRowsAndColumnsBack(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	path, from := s.Create("people", nil, harness.Col("id", "long"), harness.Col("name", "string")), " FROM "+s.Schema+".people"
	dir := filepath.Join(s.Root, "people")
	var rows list
	for i := range 10 {
		rows = append(rows, object{"id": i, "name": "n"})
	}
	s.Admin.Write(path+"/rows", harness.RowsOf(rows...))
	first := s.Admin.Version(path)
	before := s.Admin.Rows("SELECT *" + from + " ORDER BY id")
	s.Admin.Write(path+"/rows/delete", object{"where": "id < 5"})
	s.Admin.Write(path+"/rows", harness.RowsOf(object{"id": 50}))
	s.Admin.OK("POST", path+"/columns", object{"name": "more", "type": "long"})
	s.Admin.OK("PATCH", path+"/properties", object{"set": object{"delta.checkpointInterval": "50"}})
	got := s.Admin.OK("POST", path+"/restore", object{"version": first})
	require.Equal(t, first+5, got["version"])
	require.Equal(t, []string{"id", "name"}, harness.ColumnsIn(got))
	require.Equal(t, before, s.Admin.Rows("SELECT *"+from+" ORDER BY id"))
	harness.DeltaPython(t)(`
import sys, deltalake
dt = deltalake.DeltaTable(sys.argv[1])
assert sorted(dt.to_pyarrow_table()["id"].to_pylist()) == list(range(10))
assert dt.history(1)[0]["operation"] == "RESTORE"
`, dir)
	require.Equal(t, first+5, s.Admin.OK("POST", path+"/restore", object{"version": first + 5})["version"], "it is that version")
	require.Equal(t, first+5, s.Admin.OK("POST", path+"/restore", object{"timestamp": "2999-01-01T00:00:00Z"})["version"])
	for _, body := range []object{{}, {"version": 0, "timestamp": "2999-01-01T00:00:00Z"}, {"version": -1}, {"timestamp": "soon"}} {
		require.Equal(t, 422, s.Admin.Call("POST", path+"/restore", body).Status, body)
	}
	require.Equal(t, 404, s.Admin.Call("POST", path+"/restore", object{"version": first + 9}).Status)

	s.Policy("people", "", `{"effect":"permit","subject":{"everyone":true},"condition":{"column":"id","op":"lt","value":5}}`)
	ben := s.Member("ben@acme.example", "builder", nil)
	code, _ := ben.Call("POST", path+"/restore", object{"version": first + 1}).Problem(t, 403)
	require.Equal(t, "table_partly_visible", code)
	require.Equal(t, 5.0, ben.Count(s.Schema+".people"))
	s.Admin.OK("POST", path+"/restore", object{"version": first + 1}) // an administrator could change the policy
	require.Equal(t, 0.0, s.Admin.Count(s.Schema+".people"), "the filter stays")
}

func TestPropertiesAreSetAndRemoved(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	s.Table("people", harness.PeopleRows, nil, harness.PeopleColumns...)
	path := s.TablePath("people")
	s.Admin.OK("PUT", path+"/columns/id/settings", object{"isPrimaryKey": true})
	version := s.Admin.Version(path)
	got := s.Admin.OK("PATCH", path+"/properties", object{"set": object{"delta.appendOnly": "true", "delta.checkpointInterval": "7"}})
	require.Equal(t, version+1, got["version"])
	require.Equal(t, version+1, s.Admin.OK("PATCH", path+"/properties", object{"set": object{"delta.appendOnly": "true"},
		"unset": list{"delta.enableChangeDataFeed"}})["version"])
	require.Equal(t, version+2, s.Admin.OK("PATCH", path+"/properties", object{"unset": list{"delta.appendOnly"}})["version"])
	properties := s.Admin.OK("GET", path, nil)["properties"].(map[string]any)
	require.Equal(t, "7", properties["delta.checkpointInterval"])
	require.NotContains(t, properties, "delta.appendOnly")
	for name, value := range map[string]string{
		"lakewarden.primaryKey": "[]", "Lakewarden.primaryKey": "[]", "mine": "x", "delta.constraints.c": "id > 0", "delta.unheardOf": "1",
		"delta.columnMapping.mode": "id", "delta.columnMapping.maxColumnId": "1", "delta.checkpointInterval": "often",
		"delta.un_heard_of": "1", "delta.universalFormat.enabledFormats": "iceberg", "delta.parquet.compression.codec": "foo",
		"delta.targetFileSize":           "foo",
		"delta.dataSkippingStatsColumns": "nope", "delta.compatibility.symlinkFormatManifest.enabled": "true",
	} {
		code, fields := s.Admin.Call("PATCH", path+"/properties", object{"set": object{"delta.appendOnly": "true", name: value}}).Problem(t, 422)
		require.Equal(t, "invalid_field", code)
		require.Equal(t, []string{"set." + name}, fields)
	}
	// What vacuum keeps is an administrator's to lessen.
	shorter := object{"set": object{"delta.deletedFileRetentionDuration": "interval 1 hour"}}
	require.Equal(t, 403, s.Member("ben@acme.example", "builder", nil).Call("PATCH", path+"/properties", shorter).Status)
	_, fields := s.Admin.Call("PATCH", path+"/properties", object{"unset": list{"delta.appendOnly", "lakewarden.primaryKey"}}).Problem(t, 422)
	require.Equal(t, []string{"unset[1]"}, fields)
	require.Equal(t, version+2, s.Admin.Version(path))
	s.Admin.OK("PATCH", path+"/properties", shorter)
}
