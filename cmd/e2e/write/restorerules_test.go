package write_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// TestRestoreKeepsKeysAndConstraints checks that keys and constraints belong to the
// table, wherever they are stored. Historical rows that violate one are not restored.
func TestRestoreKeepsKeysAndConstraints(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	path := s.Create("people", nil, harness.Col("id", "long"), harness.Col("name", "string"), harness.Col("age", "long"))
	s.Admin.Write(path+"/rows", harness.RowsOf(object{"id": 1, "name": "a", "age": 3}, object{"id": 2, "name": "b", "age": 4}))
	first := s.Admin.Version(path)
	add := func(name, expr string) {
		s.Admin.OK("POST", path+"/constraints", object{"constraints": list{object{"name": name, "expr": expr}}})
	}
	validated := func() map[string]any {
		out := map[string]any{}
		for _, c := range s.Admin.OK("GET", path+"/constraints", nil)["constraints"].([]any) {
			out[c.(object)["name"].(string)] = c.(object)["validated"]
		}
		return out
	}
	restore := func(version float64) harness.Reply {
		return s.Admin.Call("POST", path+"/restore", object{"version": version})
	}

	add("adult", "age >= 3")       // goes into the log
	add("shape", "age / 2 < 1000") // stays in the catalog
	s.Admin.OK("PUT", path+"/primary-key", object{"columns": list{"id"}})
	rules := object{"adult": true, "shape": false}
	require.Equal(t, rules, validated())
	s.Admin.Write(path+"/rows", harness.RowsOf(object{"id": 3, "name": "c", "age": 9}))
	s.Admin.OK("PATCH", path+"/columns/id", object{"name": "key"})
	require.Equal(t, 200, restore(first).Status)
	require.Equal(t, 2.0, s.Admin.Count(s.Schema+".people"))
	require.Equal(t, rules, validated(), "they hold for the rows to come as before")
	key := s.Admin.OK("GET", path+"/columns", nil)["columns"].([]any)[0].(object)
	require.Equal(t, list{"id", true, true}, list{key["name"], key["isPrimaryKey"], key["isUnique"]}, "%v", key)
	code, _ := s.Admin.Call("POST", path+"/rows", harness.RowsOf(object{"id": 2, "name": "x", "age": 7})).Problem(t, 409)
	require.Equal(t, "key_conflict", code)
	code, fields := s.Admin.Call("POST", path+"/rows", harness.RowsOf(object{"id": 7, "name": "x", "age": 1})).Problem(t, 422)
	require.Equal(t, "rule_violation", code, fields)
	harness.DeltaPython(t)(`
import sys, deltalake
dt = deltalake.DeltaTable(sys.argv[1])
assert dt.metadata().configuration["delta.constraints.adult"], dt.metadata().configuration
table = deltalake.QueryBuilder().register("t", dt).execute("SELECT * FROM t").read_all()
assert table.num_rows == 2, table
`, s.Root+"/people")

	// Rows of then that break what holds now.
	s.Admin.OK("DELETE", path+"/constraints/adult", nil)
	s.Admin.OK("PUT", path+"/primary-key", object{"columns": list{}})
	s.Admin.Write(path+"/rows", harness.RowsOf(object{"id": 1, "name": "twin", "age": 1}))
	broken := s.Admin.Version(path)
	s.Admin.Write(path+"/rows/delete", object{"where": "name = 'twin'"})
	add("adult", "age >= 3")
	s.Admin.OK("PUT", path+"/primary-key", object{"columns": list{"id"}})
	code, fields = restore(broken).Problem(t, 409)
	require.Equal(t, "constraint_violation", code)
	require.ElementsMatch(t, []string{"constraints", "primaryKey"}, fields)
	require.Equal(t, 2.0, s.Admin.Count(s.Schema+".people"), "nothing was restored")

	// Of a constraint that was dropped since, nothing comes back.
	before := s.Admin.Version(path)
	s.Admin.OK("DELETE", path+"/constraints/adult", nil)
	require.Equal(t, 200, restore(before).Status)
	require.Equal(t, object{"shape": false}, validated())

	// A version without the columns of what holds now.
	s.Admin.OK("POST", path+"/columns", object{"name": "more", "type": "long"})
	add("positive", "more > 0 OR more IS NULL")
	add("half", "more / 2 < 5 OR more IS NULL")
	s.Admin.OK("PUT", path+"/columns/more/settings", object{"isUnique": true})
	code, fields = restore(before).Problem(t, 409)
	require.Equal(t, "column_in_use", code)
	require.Equal(t, []string{"isUnique", "constraints"}, fields)
	s.Admin.OK("DELETE", path+"/constraints/half", nil)
	s.Admin.OK("PUT", path+"/columns/more/settings", object{"isUnique": false})
	code, fields = restore(before).Problem(t, 409)
	require.Equal(t, "column_in_use", code)
	require.Equal(t, []string{"constraints"}, fields)
	s.Admin.OK("DELETE", path+"/constraints/positive", nil)
	require.Equal(t, 200, restore(before).Status)
}

// TestAnEqualNameHidesNoConstraint checks that a constraint that another writer adds to
// the log under the name of one in the catalog does not replace it.
func TestAnEqualNameHidesNoConstraint(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	path := s.Create("people", nil, harness.Col("id", "long"), harness.Col("age", "long"))
	s.Admin.Write(path+"/rows", harness.RowsOf(object{"id": 1, "age": 3}))
	s.Admin.OK("POST", path+"/constraints", object{"constraints": list{object{"name": "shape", "expr": "age / 2 < 100"}}})
	harness.DeltaPython(t)(`
import sys, deltalake
deltalake.DeltaTable(sys.argv[1]).alter.add_constraint({"shape": "id > 0"})
`, s.Root+"/people")
	s.Discover()
	for _, row := range []object{{"id": 2, "age": 900}, {"id": -2, "age": 4}} {
		code, _ := s.Admin.Call("POST", path+"/rows", harness.RowsOf(row)).Problem(t, 422)
		require.Equal(t, "rule_violation", code)
	}
	s.Admin.Write(path+"/rows", harness.RowsOf(object{"id": 2, "age": 4}))
	require.Len(t, s.Admin.OK("GET", path+"/constraints", nil)["constraints"], 2)
}

// TestRestoreAndVacuumExcludeEachOther checks that a restore and a vacuum on any two
// replicas notice each other.
func TestRestoreAndVacuumExcludeEachOther(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	path := s.Create("people", nil, harness.Col("id", "long"))
	s.Admin.Write(path+"/rows", harness.RowsOf(object{"id": 1}))
	former := s.Admin.Version(path)
	s.Admin.Write(path+"/rows/delete", object{"where": "id = 1"})
	store, err := s.OpenCatalog(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	org, table := catalog.OrgID(s.Boot.OrganisationID), catalog.DeltaID(s.Admin.OK("GET", path, nil)["tableId"].(string))
	begin := func(kind catalog.WriteKind) (end func()) {
		lease, err := store.BeginWrite(t.Context(), catalog.NewWrite{Org: org, Table: table, Kind: kind})
		require.NoError(t, err)
		return func() { require.NoError(t, store.EndWrite(t.Context(), lease)) }
	}
	now := object{"retention_hours": 0, "enforce_retention_duration": false}

	end := begin(catalog.WriteRestore)
	require.Equal(t, list{}, s.Admin.OK("POST", path+"/vacuum", now)["filesDeleted"], "a restore may need any file")
	end()
	end = begin(catalog.WriteVacuum)
	code, _ := s.Admin.Call("POST", path+"/restore", object{"version": former}).Problem(t, 409)
	require.Equal(t, "vacuum_running", code)
	end()
	require.Equal(t, 200, s.Admin.Call("POST", path+"/restore", object{"version": former}).Status)
	require.Equal(t, 1.0, s.Admin.Count(s.Schema+".people"))
	s.Admin.Write(path+"/rows/delete", object{"where": "id = 1"})
	require.Len(t, s.Admin.OK("POST", path+"/vacuum", now)["filesDeleted"], 1)
	require.Equal(t, 404, s.Admin.Call("POST", path+"/restore", object{"version": former}).Status)
}

// TestRestoresRaceVacuums checks that, whichever is first, the table can be read
// afterwards and has the rows of its version.
func TestRestoresRaceVacuums(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	path := s.Create("people", nil, harness.Col("id", "long"))
	outcomes := map[int]int{}
	for i := range 40 {
		s.Admin.Write(path+"/rows", harness.RowsOf(object{"id": i}))
		former := s.Admin.Version(path)
		s.Admin.Write(path+"/rows/delete", object{"where": "true"})
		var restored, vacuumed harness.Reply
		var wg sync.WaitGroup
		wg.Go(func() {
			for range i % 20 { // it takes a vacuum some time to begin
				s.Admin.Call("GET", path, nil)
			}
			restored = s.Admin.Call("POST", path+"/restore", object{"version": former})
		})
		wg.Go(func() {
			vacuumed = s.Admin.Call("POST", path+"/vacuum", object{"retention_hours": 0, "enforce_retention_duration": false})
		})
		wg.Wait()
		require.Equal(t, 200, vacuumed.Status, "%s", vacuumed.Body)
		want := list{}
		switch restored.Status {
		case 200:
			want = list{list{float64(i)}}
		case 404:
		default:
			code, _ := restored.Problem(t, 409)
			require.Equal(t, "vacuum_running", code)
		}
		outcomes[restored.Status]++
		require.Equal(t, want, s.Admin.Rows("SELECT id FROM "+s.Schema+".people"), "restore: %s", restored.Body)
		if len(want) > 0 {
			s.Admin.Write(path+"/rows/delete", object{"where": "true"})
		}
	}
	t.Logf("%v", outcomes)
}
