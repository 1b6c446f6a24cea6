package write_test

import (
	"maps"
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
	"github.com/lakewarden/lakewarden/engine/objstore/s3test"
)

func TestColumnSettingsAreCheckedAgainstRows(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	dir := s.Table("people", harness.PeopleRows, nil, harness.PeopleColumns...)
	path := "/v1/tables/lake/" + s.Schema + "/people"
	set := func(column string, settings map[string]any) harness.Reply {
		return s.Admin.Call("PUT", path+"/columns/"+column+"/settings", settings)
	}
	accepted := func(column string, settings map[string]any) {
		t.Helper()
		r := set(column, settings)
		require.Equal(t, http.StatusOK, r.Status, "%s", r.Body)
		require.Empty(t, r.JSON(t))
	}
	refused := func(status int, code, field, column string, settings map[string]any) {
		t.Helper()
		before := s.Admin.Version(path)
		got, fields := set(column, settings).Problem(t, status)
		require.Equal(t, code, got)
		require.Equal(t, []string{field}, fields)
		require.Equal(t, before, s.Admin.Version(path), "nothing was committed")
	}
	type on = map[string]any

	// Rule 1: NULL does not count, values do.
	accepted("NAME", on{"isUnique": true})
	primary, unique, nullable := s.Admin.Flags(path, "name")
	require.Equal(t, []bool{false, true, true}, []bool{primary, unique, nullable})
	refused(409, "constraint_violation", "isUnique", "kind", on{"isUnique": true})
	require.Contains(t, string(set("kind", on{"isUnique": true}).Body), "1 values that more than one row has")
	refused(422, "invalid_field", "isUnique", "list", on{"isUnique": true})

	// Rule 2: the combination counts.
	refused(409, "constraint_violation", "isPrimaryKey", "a", on{"isPrimaryKey": true})
	accepted("gap", on{"isPrimaryKey": true}) // one NULL
	primary, unique, _ = s.Admin.Flags(path, "gap")
	require.True(t, primary && unique, "a key of one column is unique")
	accepted("b", on{"isPrimaryKey": true})
	primary, unique, _ = s.Admin.Flags(path, "gap")
	require.True(t, primary && !unique, "one of several is not")

	// Rule 5.
	refused(422, "invalid_field", "isUnique", "b", on{"isUnique": true})
	refused(422, "invalid_field", "isUnique", "b", on{"isUnique": false})
	refused(422, "invalid_field", "isUnique", "b", on{"isUnique": true, "isPrimaryKey": true})
	// Rule 4: b repeats, but it only leaves; its flag goes with it.
	accepted("gap", on{"isPrimaryKey": false})
	primary, unique, _ = s.Admin.Flags(path, "gap")
	require.False(t, primary || unique)
	refused(409, "constraint_violation", "isUnique", "b", on{"isPrimaryKey": false, "isUnique": true})
	accepted("b", on{"isPrimaryKey": false, "isUnique": false})

	// Rule 3.
	refused(409, "constraint_violation", "isNullable", "gap", on{"isNullable": false})
	version := s.Admin.Version(path)
	accepted("id", on{"isNullable": false, "isPrimaryKey": true})
	require.Equal(t, version+1, s.Admin.Version(path), "one commit")
	primary, unique, nullable = s.Admin.Flags(path, "id")
	require.Equal(t, []bool{true, true, false}, []bool{primary, unique, nullable})
	accepted("id", on{"isNullable": false})
	accepted("id", on{})
	require.Equal(t, version+1, s.Admin.Version(path), "nothing changed")
	appendOf := func(id string) string {
		return `
import sys, pyarrow as pa, deltalake
schema = deltalake.DeltaTable(sys.argv[1]).schema().to_arrow()
row = {"id": ` + id + `, "a": 1, "b": 1, "name": "new", "kind": "k", "gap": 1, "list": [1]}
failed = False
try:
    deltalake.write_deltalake(sys.argv[1], pa.Table.from_pylist([row], schema=pa.schema([f.with_nullable(True) for f in pa.schema(schema)])), mode="append")
except Exception:
    failed = True
assert failed == (row["id"] is None), row
`
	}
	run := harness.DeltaPython(t)
	run(appendOf("None"), dir)
	run(appendOf("100"), dir)
	require.Equal(t, 11.0, s.Admin.Count(s.Schema+".people"))
	primary, unique, _ = s.Admin.Flags(path, "id")
	require.True(t, primary && unique, "another writer's commit keeps the key")
	accepted("id", on{"isNullable": true})

	require.Equal(t, 404, set("nobody", on{"isUnique": true}).Status)
	viewer := s.Member("v@acme.example", "viewer", nil)
	require.Equal(t, 403, viewer.Call("PUT", path+"/columns/id/settings", on{"isUnique": true}).Status)
}

func TestThePrimaryKeyIsReplacedAsAWhole(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	s.Table("people", harness.PeopleRows, nil, harness.PeopleColumns...)
	path := "/v1/tables/lake/" + s.Schema + "/people"
	put := func(columns ...string) harness.Reply {
		return s.Admin.Call("PUT", path+"/primary-key", map[string]any{"columns": append([]string{}, columns...)})
	}
	version := s.Admin.Version(path)
	require.Equal(t, 200, put("id").Status)
	require.Equal(t, 200, put("B", "a").Status, "single columns repeat, the combination does not")
	require.Equal(t, version+2, s.Admin.Version(path))
	for name, want := range map[string][2]bool{"a": {true, false}, "b": {true, false}, "id": {false, false}} {
		primary, unique, _ := s.Admin.Flags(path, name)
		require.Equal(t, want, [2]bool{primary, unique}, name)
	}
	require.Contains(t, s.Admin.OK("GET", path, nil)["properties"].(map[string]any)["lakewarden.primaryKey"], `["b","a"]`)
	require.Equal(t, 200, put("a", "b").Status, "another order")
	require.Equal(t, 200, put("a", "b").Status)
	require.Equal(t, version+3, s.Admin.Version(path), "the same key is no commit")

	for _, c := range []struct {
		columns []string
		status  int
		code    string
		field   string
	}{
		{[]string{"b"}, 409, "constraint_violation", "columns"},
		{[]string{"id", "nope"}, 422, "invalid_field", "columns[1]"},
		{[]string{"id", "ID"}, 422, "invalid_field", "columns[1]"},
		{[]string{"list"}, 422, "invalid_field", "columns[0]"},
	} {
		code, fields := put(c.columns...).Problem(t, c.status)
		require.Equal(t, c.code, code)
		require.Equal(t, []string{c.field}, fields)
	}
	require.Equal(t, 200, put().Status)
	primary, _, _ := s.Admin.Flags(path, "a")
	require.False(t, primary)

	// Of a key and a row that breaks it, at the same time, one is refused.
	var group sync.WaitGroup
	var inserted, keyed harness.Reply
	group.Go(func() { keyed = put("id") })
	group.Go(func() {
		inserted = s.Admin.Call("POST", path+"/rows", map[string]any{"rows": []any{map[string]any{"id": 0, "kind": "again"}}})
	})
	group.Wait()
	primary, _, _ = s.Admin.Flags(path, "id")
	require.Equal(t, primary, keyed.Status == 200, "%s", keyed.Body)
	require.Equal(t, !primary, inserted.Status == 200, "%s %s", keyed.Body, inserted.Body)
	loser, want := keyed, []string{"constraint_violation"}
	if primary {
		// Without another look at the rows where the metadata changed below it.
		loser, want = inserted, []string{"key_conflict", "commit_conflict"}
	}
	code, _ := loser.Problem(t, 409)
	require.Contains(t, want, code)
}

func TestConstraintsGoIntoTheLogIfEveryWriterCanEnforceThem(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	dir := s.Table("people", harness.PeopleRows, nil, harness.PeopleColumns...)
	path := "/v1/tables/lake/" + s.Schema + "/people"
	add := func(c *harness.Client, pairs ...string) harness.Reply {
		list := []map[string]any{}
		for i := 0; i < len(pairs); i += 2 {
			list = append(list, map[string]any{"name": pairs[i], "expr": pairs[i+1]})
		}
		return c.Call("POST", path+"/constraints", map[string]any{"constraints": list})
	}
	known := func(c *harness.Client) map[string]map[string]any {
		out := map[string]map[string]any{}
		for _, one := range c.OK("GET", path+"/constraints", nil)["constraints"].([]any) {
			out[one.(map[string]any)["name"].(string)] = one.(map[string]any)
		}
		return out
	}
	r := add(s.Admin, "natural", "id >= 0 AND Kind <> ''", "small", "id < 9", "shape", "regexp_matches(kind, '^s')")
	require.Equal(t, 200, r.Status, "%s", r.Body)
	require.Empty(t, r.JSON(t))
	got := known(s.Admin)
	require.Equal(t, map[string]any{"name": "natural", "expr": "((`id` >= 0) AND (`kind` <> ''))", "validated": true, "portable": true,
		"enforced": true, "reason": nil}, got["natural"])
	require.Equal(t, map[string]any{"name": "small", "expr": "id < 9", "validated": false, "portable": true, "enforced": true, "reason": nil},
		got["small"])
	require.Equal(t, false, got["shape"]["validated"])
	require.Equal(t, got["natural"], s.Admin.OK("GET", path+"/constraints/NATURAL", nil))
	require.Equal(t, got["shape"], s.Admin.OK("GET", path+"/constraints/shape", nil))
	require.Equal(t, 404, s.Admin.Call("GET", path+"/constraints/nope", nil).Status)
	require.Equal(t, false, got["shape"]["portable"])
	harness.DeltaPython(t)(`
import sys, pyarrow as pa, deltalake
t = deltalake.DeltaTable(sys.argv[1])
assert t.metadata().configuration == {"delta.constraints.natural": "((`+"`id` >= 0) AND (`kind`"+` <> ''))"}, t.metadata().configuration
def write(id):
    schema = pa.schema([f.with_nullable(True) for f in pa.schema(t.schema().to_arrow())])
    deltalake.write_deltalake(sys.argv[1], pa.Table.from_pylist([{"id": id, "a": 1, "b": 1, "name": "x", "kind": "s", "gap": 1, "list": [1]}], schema=schema), mode="append")
write(5)
try:
    write(-1)
    raise SystemExit("taken")
except Exception:
    pass
`, dir)

	// A name is taken wherever the constraint is stored, regardless of case.
	for _, name := range []string{"NATURAL", "Shape"} {
		code, fields := add(s.Admin, "fresh", "id > 0", name, "id > 0").Problem(t, 409)
		require.Equal(t, "already_exists", code)
		require.Equal(t, []string{"constraints[1].name"}, fields)
	}
	for field, pair := range map[string][2]string{
		"constraints[0].expr": {"c", "id > (SELECT 1)"}, "constraints[0].name": {"a b", "id > 0"},
	} {
		code, fields := add(s.Admin, pair[0], pair[1]).Problem(t, 422)
		require.Equal(t, "invalid_field", code)
		require.Equal(t, []string{field}, fields)
	}
	_, fields := add(s.Admin, "c", "regexp_matches(kind, '(')").Problem(t, 422)
	require.Equal(t, []string{"constraints[0].expr"}, fields)
	require.Len(t, known(s.Admin), 3, "nothing was added")

	// Validation moves it when all rows satisfy it.
	r = s.Admin.Call("POST", path+"/constraints/SMALL/validate", nil)
	code, fields := r.Problem(t, 409)
	require.Equal(t, "constraint_violation", code)
	require.Equal(t, []string{"expr"}, fields)
	require.Contains(t, string(r.Body), "1 rows that do not satisfy it")
	harness.DeltaPython(t)(`
import sys, deltalake
deltalake.DeltaTable(sys.argv[1]).delete("id = 9")
`, dir)
	require.Equal(t, true, s.Admin.OK("POST", path+"/constraints/small/validate", nil)["validated"])
	require.Equal(t, "(`id` < 9)", known(s.Admin)["small"]["expr"])
	require.Equal(t, false, s.Admin.OK("POST", path+"/constraints/shape/validate", nil)["validated"])
	require.Equal(t, 404, s.Admin.Call("POST", path+"/constraints/nope/validate", nil).Status)

	// What other writers broke of the rules that they do not know.
	s.Admin.OK("PUT", path+"/columns/name/settings", map[string]any{"isUnique": true})
	harness.DeltaPython(t)(`
import sys, pyarrow as pa, deltalake
schema = pa.schema([f.with_nullable(True) for f in pa.schema(deltalake.DeltaTable(sys.argv[1]).schema().to_arrow())])
row = {"id": 7, "a": 1, "b": 1, "name": "n1", "kind": "same", "gap": 1, "list": [1]}
deltalake.write_deltalake(sys.argv[1], pa.Table.from_pylist([row], schema=schema), mode="append")
`, dir)
	require.Equal(t, []any{
		map[string]any{"kind": "unique", "name": "name", "columns": []any{"name"}, "holds": false, "violations": 1.0},
		map[string]any{"kind": "check", "name": "natural", "columns": []any{"id", "kind"}, "holds": true, "violations": 0.0},
		map[string]any{"kind": "check", "name": "small", "columns": []any{"id"}, "holds": true, "violations": 0.0},
		map[string]any{"kind": "check", "name": "shape", "columns": []any{"kind"}, "holds": true, "violations": 0.0},
	}, s.Admin.OK("GET", path+"/violations", nil)["rules"])

	// Constraints of the log and of the catalog restrict writes alike.
	row := map[string]any{"id": 5, "a": 1, "b": 1, "name": "fresh", "kind": "sad", "gap": 1, "list": []int{1}}
	for column, value := range map[string]any{"kind": "odd", "id": 99} {
		bad := maps.Clone(row)
		bad[column] = value
		_, fields = s.Admin.Call("POST", path+"/rows", map[string]any{"rows": []any{row, bad}}).Problem(t, 422)
		require.Equal(t, []string{"rows[1]." + column}, fields)
	}
	s.Admin.OK("POST", path+"/rows", map[string]any{"rows": []any{row}})

	for _, name := range []string{"Small", "shape"} {
		require.Equal(t, 200, s.Admin.Call("DELETE", path+"/constraints/"+name, nil).Status)
		require.Equal(t, 404, s.Admin.Call("DELETE", path+"/constraints/"+name, nil).Status)
	}
	require.Len(t, known(s.Admin), 1)
	viewer := s.Member("v@acme.example", "viewer", nil)
	require.Equal(t, 403, add(viewer, "mine", "id > 0").Status)
	require.Equal(t, 403, viewer.Call("DELETE", path+"/constraints/natural", nil).Status)
	require.Len(t, known(viewer), 1)
}

// TestListedConstraintsCanBeSentBack checks that constraints as the list shows them are
// accepted for another table, and for the same one again.
func TestListedConstraintsCanBeSentBack(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	columns := []map[string]any{harness.Col("id", "long"), harness.Col("kind", "string"), harness.Col("day", "date")}
	from, to := s.Create("a", nil, columns...), s.Create("b", nil, columns...)
	put := func(path, name, expr string) harness.Reply {
		return s.Admin.Call("POST", path+"/constraints", object{"constraints": list{object{"name": name, "expr": expr}}})
	}
	for name, expr := range map[string]string{
		"one": "id >= 0 AND kind <> 'a`b'", "two": "extract(year FROM day) > 2000 OR kind LIKE 'x%'", "three": "lower(kind) = kind",
	} {
		require.Equal(t, 200, put(from, name, expr).Status)
		shown := s.Admin.OK("GET", from+"/constraints/"+name, nil)
		require.Equal(t, 200, put(to, name, shown["expr"].(string)).Status, shown["expr"])
		require.Equal(t, shown, s.Admin.OK("GET", to+"/constraints/"+name, nil))
	}
	_, fields := s.Admin.Call("POST", to+"/rows", harness.RowsOf(object{"id": -1, "kind": "x", "day": "2024-01-01"})).Problem(t, 422)
	require.Equal(t, []string{"rows[0]"}, fields)
	for _, expr := range []string{"`nope` > 0", "`id > 0", "rand() > `id`"} {
		_, fields := put(to, "bad", expr).Problem(t, 422)
		require.Equal(t, []string{"constraints[0].expr"}, fields, expr)
	}
	// A constraint that rows violate is stored as sent, and moves to the log when no row does.
	s.Admin.Write(from+"/rows", harness.RowsOf(object{"id": 1, "kind": "x", "day": "2024-01-01"}))
	require.Equal(t, 200, put(from, "later", "(`id` > 1)").Status)
	require.Equal(t, false, s.Admin.OK("GET", from+"/constraints/later", nil)["validated"])
	s.Admin.Write(from+"/rows/delete", object{"where": "id = 1"})
	require.Equal(t, true, s.Admin.OK("POST", from+"/constraints/later/validate", nil)["validated"])
}

// Who does not see all of a table cannot ask about the rest by adding rules. Who may change
// policies learns yes or no.
func TestRulesAnswerFilteredCallersYesOrNo(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	s.Table("people", harness.PeopleRows, nil, harness.PeopleColumns...)
	path := "/v1/tables/lake/" + s.Schema + "/people"
	builder := s.Member("b@acme.example", "builder", map[string]string{"most": "2"})
	s.Policy("people", "id", `{"effect":"permit","subject":{"attribute":"most","op":"lte"}}`)
	s.Policy("people", "id", `{"effect":"permit","subject":{"role":"admin"}}`)

	code, _ := builder.Call("PUT", path+"/columns/gap/settings", map[string]any{"isNullable": false}).Problem(t, 403)
	require.Equal(t, "table_partly_visible", code)
	for _, c := range []string{"id < 3", "id < 5"} { // true and false of the hidden rows
		body := map[string]any{"constraints": []any{map[string]any{"name": "mine", "expr": c}}}
		code, _ := builder.Call("POST", path+"/constraints", body).Problem(t, 403)
		require.Equal(t, "table_partly_visible", code)
	}
	// Who may change policies may add rules, and learns yes or no about rows that it does not see.
	partial := s.Member("partial@acme.example", "admin", nil)
	cleared := `{"effect":"permit","subject":{"attribute":"clearance","op":"eq","value":"top"}}`
	s.Admin.OK("PUT", "/v1/organisations/"+s.Boot.OrganisationID+"/users/"+s.Boot.UserID+"/attributes", map[string]string{"clearance": "top"})
	s.Rule("mask", "people", "name", cleared)
	r := partial.Call("PUT", path+"/columns/gap/settings", map[string]any{"isNullable": false})
	code, _ = r.Problem(t, 409)
	require.Equal(t, "constraint_violation", code)
	require.Contains(t, string(r.Body), "there are rows without a value")
	require.NotContains(t, string(r.Body), "1 rows")
	partial.OK("POST", path+"/constraints", map[string]any{"constraints": []any{map[string]any{"name": "mine", "expr": "id < 50"}}})
	require.Equal(t, true, s.Admin.OK("GET", path+"/constraints/mine", nil)["validated"])

	require.Equal(t, 200, s.Admin.Call("PUT", path+"/columns/id/settings", map[string]any{"isPrimaryKey": true, "isNullable": false}).Status)
	require.Equal(t, []any{
		map[string]any{"kind": "primary_key", "name": "primary key", "columns": []any{"id"}, "holds": true, "violations": nil},
		map[string]any{"kind": "not_null", "name": "id", "columns": []any{"id"}, "holds": true, "violations": nil},
	}, builder.OK("GET", path+"/violations", nil)["rules"])

	s.Rule("cls", "people", "kind", cleared)
	s.Admin.OK("POST", path+"/constraints", map[string]any{"constraints": []any{map[string]any{"name": "hidden", "expr": "kind = 'same'"}}})
	for expr, message := range map[string]string{"name > 'a'": "masked", "kind = 'x'": `there is no column \"kind\"`,
		"nope = 'x'": `there is no column \"nope\"`} {
		r := partial.Call("POST", path+"/constraints", map[string]any{"constraints": []any{map[string]any{"name": "c", "expr": expr}}})
		_, fields := r.Problem(t, 422)
		require.Equal(t, []string{"constraints[0].expr"}, fields)
		require.Contains(t, string(r.Body), message)
	}
	require.Len(t, partial.OK("GET", path+"/constraints", nil)["constraints"], 1)
	require.Len(t, s.Admin.OK("GET", path+"/constraints", nil)["constraints"], 2)
	require.Equal(t, 404, partial.Call("DELETE", path+"/constraints/hidden", nil).Status)
	require.Equal(t, 404, partial.Call("GET", path+"/constraints/hidden", nil).Status)
	require.Equal(t, "hidden", s.Admin.OK("GET", path+"/constraints/hidden", nil)["name"])
	require.Equal(t, 404, partial.Call("PUT", path+"/columns/kind/settings", map[string]any{"isUnique": false}).Status)
	_, fields := partial.Call("PUT", path+"/primary-key", map[string]any{"columns": []any{"kind"}}).Problem(t, 422)
	require.Equal(t, []string{"columns[0]"}, fields)
}

func TestRulesOfRemoteTables(t *testing.T) {
	t.Parallel()
	store := s3test.Start(t)
	bucket := store.Bucket(t)
	harness.WriteRemote(t, store, "s3://"+bucket+"/orders")
	s := harness.StartS3Server(t)
	made := s.Admin.OK("POST", harness.ConfigsPath, harness.S3Body(store, bucket, map[string]any{"workspaceId": s.Boot.WorkspaceID}))
	path := "/v1/tables/lake/" + made["schema"].(string) + "/orders"
	require.Equal(t, 200, s.Admin.Call("PUT", path+"/primary-key", map[string]any{"columns": []string{"id"}}).Status)
	primary, unique, _ := s.Admin.Flags(path, "id")
	require.True(t, primary && unique, "seen at once")
	s.Admin.OK("POST", path+"/constraints", map[string]any{"constraints": []any{map[string]any{"name": "eu", "expr": "region = 'eu'"}}})
	require.Equal(t, true, s.Admin.OK("GET", path+"/constraints", nil)["constraints"].([]any)[0].(map[string]any)["validated"])
	code, _ := s.Admin.Call("PUT", path+"/columns/region/settings", map[string]any{"isUnique": true}).Problem(t, 409)
	require.Equal(t, "constraint_violation", code)
	require.Equal(t, 3.0, s.Admin.Count(made["schema"].(string)+".orders"))
}
