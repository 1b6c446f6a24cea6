package main

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// columnsIn are the columns in the answer to a change.
func columnsIn(altered map[string]any) (out []string) {
	for _, c := range altered["columns"].([]any) {
		out = append(out, c.(map[string]any)["name"].(string))
	}
	return out
}

func TestColumnsAreAddedChangedAndDropped(t *testing.T) {
	s := startServer(t, nil)
	dir := s.table("people", peopleRows, nil, peopleColumns...)
	path, from := s.tablePath("people"), " FROM "+s.schema+".people"
	refused := func(status int, code, field, method, below string, body any) {
		t.Helper()
		before := s.admin.version(path)
		got, fields := s.admin.call(method, path+below, body).problem(t, status)
		require.Equal(t, code, got)
		require.Contains(t, fields, field)
		require.Equal(t, before, s.admin.version(path), "nothing was committed")
	}

	// Added columns are NULL in the rows that are there, and take values.
	version := s.admin.version(path)
	got := s.admin.ok("POST", path+"/columns", object{"name": "Note", "type": "string", "comment": "it's new"})
	require.Equal(t, version+1, got["version"])
	require.Equal(t, []string{"id", "a", "b", "name", "kind", "gap", "list", "Note"}, columnsIn(got))
	require.Equal(t, list{list{10.0, 0.0}}, s.admin.rows("SELECT count(*), count(note)"+from))
	s.admin.write(path+"/rows", rowsOf(object{"id": 10, "note": "first"}))
	require.Equal(t, list{list{9.0, nil}, list{10.0, "first"}}, s.admin.rows("SELECT id, Note"+from+" WHERE id > 8 ORDER BY id"))
	refused(409, "already_exists", "name", "POST", "/columns", object{"name": "NOTE", "type": "long"})
	refused(422, "invalid_field", "nullable", "POST", "/columns", object{"name": "x", "type": "long", "nullable": false})
	refused(422, "invalid_field", "type", "POST", "/columns", object{"name": "x", "type": "point"})
	refused(422, "invalid_field", "name", "POST", "/columns", object{"name": "a b;", "type": "long"})
	refused(422, "invalid_field", "type", "POST", "/columns", object{"name": "x", "type": "variant"})
	require.Equal(t, 422, s.admin.call("POST", path+"/columns", object{"name": "x", "type": "long", "default": 1}).status)

	// What names a column keeps its name and type; a comment is no matter.
	s.admin.ok("POST", path+"/constraints", object{"constraints": list{object{"name": "small", "expr": "b < 100"}}})
	s.admin.ok("PUT", path+"/columns/id/settings", object{"isPrimaryKey": true})
	refused(409, "column_in_use", "constraints", "PATCH", "/columns/B", object{"name": "bb"})
	refused(409, "column_in_use", "constraints", "PATCH", "/columns/b", object{"type": "decimal(30,0)"})
	refused(409, "column_in_use", "constraints", "DELETE", "/columns/b", nil)
	refused(409, "column_in_use", "primaryKey", "DELETE", "/columns/id", nil)
	refused(422, "invalid_field", "type", "PATCH", "/columns/a", object{"type": "integer"})
	refused(409, "already_exists", "name", "PATCH", "/columns/a", object{"name": "KIND"})
	require.Equal(t, 404, s.admin.call("PATCH", path+"/columns/nobody", object{"name": "x"}).status)
	require.Equal(t, 404, s.admin.call("DELETE", path+"/columns/nobody", nil).status)
	version = s.admin.version(path)
	require.Equal(t, version+1, s.admin.ok("PATCH", path+"/columns/b", object{"comment": "small ones"})["version"])
	require.Equal(t, version+1, s.admin.ok("PATCH", path+"/columns/b", object{"comment": "small ones", "name": "b", "type": "long"})["version"], "nothing changes")

	// Renamed and dropped columns: files keep what they have.
	got = s.admin.ok("PATCH", path+"/columns/a", object{"name": "half of id"})
	require.True(t, got["columnsMapped"].(bool))
	require.Equal(t, []string{"id", "half of id", "b", "name", "kind", "gap", "list", "Note"}, columnsIn(got))
	require.Equal(t, list{list{8.0, 4.0}}, s.admin.rows(`SELECT id, "half of id"`+from+" WHERE id = 8"))
	s.admin.write(path+"/rows", rowsOf(object{"id": 11, "half of id": 5, "b": 1, "kind": "mapped"}))
	require.Equal(t, list{list{8.0, 4.0}, list{11.0, 5.0}}, s.admin.rows(`SELECT id, "half of id"`+from+" WHERE id IN (8, 11) ORDER BY id"))
	code, _ := s.admin.call("POST", path+"/rows", rowsOf(object{"id": 8, "b": 1})).problem(t, 409)
	require.Equal(t, "key_conflict", code)
	require.Equal(t, 400, s.admin.query("SELECT a"+from).status)
	s.admin.ok("PATCH", path+"/columns/id", object{"name": "key"})
	primary, _, _ := s.admin.flags(path, "key")
	require.True(t, primary, "the key follows its column")
	got = s.admin.ok("DELETE", path+"/columns/kind", nil)
	require.Equal(t, []string{"key", "half of id", "b", "name", "gap", "list", "Note"}, columnsIn(got))
	require.Equal(t, 400, s.admin.query("SELECT kind"+from).status)
	s.admin.ok("POST", path+"/columns", object{"name": "kind", "type": "long"})
	require.Equal(t, list{list{12.0, 0.0}}, s.admin.rows("SELECT count(*), count(kind)"+from), "what was dropped does not come back")
	deltaPython(t)(`
import sys, deltalake, pyarrow
dt = deltalake.DeltaTable(sys.argv[1])
names = [f.name for f in dt.schema().fields]
assert names == ["key", "half of id", "b", "name", "gap", "list", "Note", "kind"], names
table = deltalake.QueryBuilder().register("t", dt).execute('SELECT * FROM t ORDER BY "key"')
rows = pyarrow.table(table.read_all()).to_pylist()
assert len(rows) == 12 and rows[8]["half of id"] == 4 and rows[11]["half of id"] == 5 and rows[10]["Note"] == "first" and rows[8]["kind"] is None, rows
`, dir)

	// The version before the mapping takes rows too.
	got = s.admin.ok("POST", path+"/restore", object{"version": version + 1})
	require.False(t, got["columnsMapped"].(bool))
	require.Equal(t, []string{"id", "a", "b", "name", "kind", "gap", "list", "Note"}, columnsIn(got))
	s.admin.write(path+"/rows", rowsOf(object{"id": 11, "a": 5, "b": 1, "kind": "new"}))
	require.Equal(t, list{list{8.0, 4.0, "same"}, list{11.0, 5.0, "new"}}, s.admin.rows("SELECT id, a, kind"+from+" WHERE id IN (8, 11) ORDER BY id"))

	viewer := s.member("v@acme.example", "viewer", nil)
	require.Equal(t, 403, viewer.call("DELETE", path+"/columns/name", nil).status)
	require.Equal(t, 403, viewer.call("POST", path+"/restore", object{"version": 0}).status)
}

func TestWidenedColumnsAreReadRight(t *testing.T) {
	s := startServer(t, nil)
	s.table("n", `SELECT i::INT AS i, (i * 1.5)::FLOAT AS f, 'x' AS s FROM range(100) t(i)`, nil, column{"i", "integer"}, column{"f", "float"}, column{"s", "string"})
	path, from := s.tablePath("n"), " FROM "+s.schema+".n"
	got := s.admin.ok("PATCH", path+"/columns/i", object{"type": "long"})
	require.Equal(t, "long", got["columns"].(list)[0].(map[string]any)["type"])
	s.admin.ok("PATCH", path+"/columns/f", object{"type": "DOUBLE"})
	s.admin.write(path+"/rows", rowsOf(object{"i": "9007199254740993", "f": 0.1, "s": "y"}))
	require.Equal(t, list{list{"BIGINT", "DOUBLE"}}, s.admin.rows("SELECT DISTINCT typeof(i), typeof(f)"+from))
	require.Equal(t, list{list{4950.0, 7425.0}}, s.admin.rows("SELECT sum(i)::DOUBLE, sum(f)"+from+" WHERE s = 'x'"))
	require.Equal(t, list{list{"9007199254740993", 0.1}}, s.admin.rows("SELECT i::VARCHAR, f"+from+" WHERE i > 2147483647"))
	require.Equal(t, list{list{7.0, 10.5}}, s.admin.rows("SELECT i, f"+from+" WHERE i = 7"))
}

// TestNoChangeShakesAPolicyOff: a column that a policy names stays, whoever the policy
// is for and whether it is enabled or not.
func TestNoChangeShakesAPolicyOff(t *testing.T) {
	s := startServer(t, nil)
	s.table("wide", maskedRows, nil, column{"id", "long"}, column{"name", "string"}, column{"ssn", "string"}, column{"pay", "double"},
		column{"home", "struct<city:string,zip:integer>"})
	path := s.tablePath("wide")
	s.admin.ok("PATCH", path+"/columns/ssn", object{"name": "number"})
	former := s.admin.version(path) - 1
	s.rule("cls", "wide", "number", viewersNot)
	s.rule("mask", "wide", "NAME", `{"effect":"forbid","subject":{"role":"viewer"},"mask":"hash"}`)
	rows := s.policy("wide", "", `{"effect":"permit","subject":{"everyone":true},"condition":{"column":"id","op":"gte","value":0}}`)
	s.admin.ok("PATCH", "/v1/organisations/"+s.boot.OrganisationID+"/policies/"+rows["id"].(string), object{"enabled": false, "expectedVersion": 1})
	version := s.admin.version(path)
	for _, column := range []string{"number", "name", "id"} {
		r := s.admin.call("DELETE", path+"/columns/"+column, nil)
		code, fields := r.problem(t, 409)
		require.Equal(t, "column_in_use", code)
		require.Equal(t, []string{"policies"}, fields, "%s", r.body)
	}
	require.Contains(t, string(s.admin.call("DELETE", path+"/columns/id", nil).body), rows["id"].(string))
	code, fields := s.admin.call("POST", path+"/restore", object{"version": former}).problem(t, 409)
	require.Equal(t, "column_in_use", code, "there the column had another name")
	require.Equal(t, []string{"policies"}, fields)
	require.Equal(t, version, s.admin.version(path))

	// Who does not see a column cannot change it, and who does not see all cannot
	// bring a version back.
	s.rule("cls", "wide", "home", `{"effect":"forbid","subject":{"role":"builder"}}`)
	ben := s.member("ben@acme.example", "builder", nil)
	require.Equal(t, 404, ben.call("PATCH", path+"/columns/home", object{"comment": "x"}).status)
	require.Equal(t, 404, ben.call("DELETE", path+"/columns/home", nil).status)
	require.Equal(t, []string{"id", "name", "number", "pay"}, columnsIn(ben.ok("PATCH", path+"/columns/id", object{"comment": "x"})))
	code, _ = ben.call("POST", path+"/restore", object{"version": version}).problem(t, 403)
	require.Equal(t, "forbidden", code)
	require.Equal(t, version+1, s.admin.version(path))
}

func TestRestoreBringsRowsAndColumnsBack(t *testing.T) {
	s := startServer(t, nil)
	path, from := s.create("people", nil, col("id", "long"), col("name", "string")), " FROM "+s.schema+".people"
	dir := filepath.Join(s.root, "people")
	var rows list
	for i := range 10 {
		rows = append(rows, object{"id": i, "name": "n"})
	}
	s.admin.write(path+"/rows", rowsOf(rows...))
	first := s.admin.version(path)
	before := s.admin.rows("SELECT *" + from + " ORDER BY id")
	s.admin.write(path+"/rows/delete", object{"where": "id < 5"})
	s.admin.write(path+"/rows", rowsOf(object{"id": 50}))
	s.admin.ok("POST", path+"/columns", object{"name": "more", "type": "long"})
	s.admin.ok("PATCH", path+"/properties", object{"set": object{"delta.checkpointInterval": "50"}})
	got := s.admin.ok("POST", path+"/restore", object{"version": first})
	require.Equal(t, first+5, got["version"])
	require.Equal(t, []string{"id", "name"}, columnsIn(got))
	require.Equal(t, before, s.admin.rows("SELECT *"+from+" ORDER BY id"))
	deltaPython(t)(`
import sys, deltalake
dt = deltalake.DeltaTable(sys.argv[1])
assert sorted(dt.to_pyarrow_table()["id"].to_pylist()) == list(range(10))
assert dt.history(1)[0]["operation"] == "RESTORE"
`, dir)
	require.Equal(t, first+5, s.admin.ok("POST", path+"/restore", object{"version": first + 5})["version"], "it is that version")
	require.Equal(t, first+5, s.admin.ok("POST", path+"/restore", object{"timestamp": "2999-01-01T00:00:00Z"})["version"])
	for _, body := range []object{{}, {"version": 0, "timestamp": "2999-01-01T00:00:00Z"}, {"version": -1}, {"timestamp": "soon"}} {
		require.Equal(t, 422, s.admin.call("POST", path+"/restore", body).status, body)
	}
	require.Equal(t, 404, s.admin.call("POST", path+"/restore", object{"version": first + 9}).status)

	s.policy("people", "", `{"effect":"permit","subject":{"everyone":true},"condition":{"column":"id","op":"lt","value":5}}`)
	code, _ := s.admin.call("POST", path+"/restore", object{"version": first + 1}).problem(t, 403)
	require.Equal(t, "forbidden", code)
}

func TestPropertiesAreSetAndRemoved(t *testing.T) {
	s := startServer(t, nil)
	s.table("people", peopleRows, nil, peopleColumns...)
	path := s.tablePath("people")
	s.admin.ok("PUT", path+"/columns/id/settings", object{"isPrimaryKey": true})
	version := s.admin.version(path)
	got := s.admin.ok("PATCH", path+"/properties", object{"set": object{"delta.appendOnly": "true", "delta.checkpointInterval": "7"}})
	require.Equal(t, version+1, got["version"])
	require.Equal(t, version+1, s.admin.ok("PATCH", path+"/properties", object{"set": object{"delta.appendOnly": "true"}, "unset": list{"delta.enableChangeDataFeed"}})["version"])
	require.Equal(t, version+2, s.admin.ok("PATCH", path+"/properties", object{"unset": list{"delta.appendOnly"}})["version"])
	properties := s.admin.ok("GET", path, nil)["properties"].(map[string]any)
	require.Equal(t, "7", properties["delta.checkpointInterval"])
	require.NotContains(t, properties, "delta.appendOnly")
	for name, value := range map[string]string{
		"lakewarden.primaryKey": "[]", "Lakewarden.primaryKey": "[]", "mine": "x", "delta.constraints.c": "id > 0", "delta.unheardOf": "1",
		"delta.columnMapping.mode": "id", "delta.columnMapping.maxColumnId": "1", "delta.checkpointInterval": "often",
		"delta.un_heard_of": "1", "delta.universalFormat.enabledFormats": "iceberg", "delta.parquet.compression.codec": "foo", "delta.targetFileSize": "foo",
		"delta.dataSkippingStatsColumns": "nope", "delta.compatibility.symlinkFormatManifest.enabled": "true",
	} {
		code, fields := s.admin.call("PATCH", path+"/properties", object{"set": object{"delta.appendOnly": "true", name: value}}).problem(t, 422)
		require.Equal(t, "invalid_field", code)
		require.Equal(t, []string{"set." + name}, fields)
	}
	// What vacuum keeps is an administrator's to lessen.
	shorter := object{"set": object{"delta.deletedFileRetentionDuration": "interval 1 hour"}}
	require.Equal(t, 403, s.member("ben@acme.example", "builder", nil).call("PATCH", path+"/properties", shorter).status)
	_, fields := s.admin.call("PATCH", path+"/properties", object{"unset": list{"delta.appendOnly", "lakewarden.primaryKey"}}).problem(t, 422)
	require.Equal(t, []string{"unset[1]"}, fields)
	require.Equal(t, version+2, s.admin.version(path))
	s.admin.ok("PATCH", path+"/properties", shorter)
}
