package write_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// TestFilteredCallersChooseNoKeys checks that a filtered caller cannot declare a key: every
// later write would then test a value of the caller's choice against all rows. Two tables
// that differ in a hidden row only must answer alike.
func TestFilteredCallersChooseNoKeys(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	type on = map[string]any
	builder := s.Member("b@acme.example", "builder", nil)
	mine := s.Member("m@acme.example", "builder", map[string]string{"masked": "yes"})
	worlds := map[string]int{"one": 500, "two": 900}
	for name, salary := range worlds {
		s.Table(name, "SELECT * FROM (VALUES (1, 10, 'mine'), (7, "+strconv.Itoa(salary)+", 'theirs')) t(id, salary, dept)", nil,
			column{"id", "long"}, column{"salary", "long"}, column{"dept", "string"})
		s.Policy(name, "dept", `{"effect":"permit","subject":{"role":"admin"}}`)
		s.Policy(name, "dept", `{"effect":"permit","subject":{"everyone":true},"condition":{"column":"dept","op":"eq","value":"mine"}}`)
	}
	key := func(columns ...string) on { return on{"columns": append([]string{}, columns...)} }

	asked := func(name string) (statuses []int) {
		path := s.TablePath(name)
		ask := func(method, to string, body on) int {
			statuses = append(statuses, builder.Call(method, path+to, body).Status)
			return statuses[len(statuses)-1]
		}
		probe := func() {
			for _, salary := range []int{500, 900} {
				ask("POST", "/rows?dry_run=true", harness.RowsOf(object{"id": 7, "salary": salary, "dept": "mine"}))
			}
		}
		refused := func(method, to string, body on) {
			t.Helper()
			before := s.Admin.Version(path)
			require.Equal(t, 403, ask(method, to, body))
			require.Equal(t, before, s.Admin.Version(path), "nothing was committed")
			probe()
		}
		probe()
		refused("PUT", "/primary-key", key("id", "salary"))
		refused("PUT", "/columns/id/settings", on{"isPrimaryKey": true})
		refused("PUT", "/columns/salary/settings", on{"isPrimaryKey": true, "isNullable": false})
		refused("PUT", "/columns/salary/settings", on{"isUnique": true})
		// Faults that any table would have are reported nevertheless.
		require.Equal(t, 422, ask("PUT", "/primary-key", key("nope")))

		// A part of a key is another key.
		require.Equal(t, 200, s.Admin.Call("PUT", path+"/primary-key", key("id", "salary", "dept")).Status)
		refused("PUT", "/columns/dept/settings", on{"isPrimaryKey": false})
		refused("PUT", "/primary-key", key("id", "salary"))
		refused("PUT", "/columns/salary/settings", on{"isPrimaryKey": false, "isUnique": true})
		// What is there stays, or goes.
		require.Equal(t, 200, ask("PUT", "/primary-key", key("id", "salary", "dept")))
		require.Equal(t, 200, ask("PUT", "/columns/id/settings", on{"isPrimaryKey": true}))
		require.Equal(t, 200, ask("PUT", "/columns/id/settings", on{"isNullable": true}))
		require.Equal(t, 200, ask("PUT", "/primary-key", key()))
		require.Equal(t, 200, s.Admin.Call("PUT", path+"/columns/salary/settings", on{"isUnique": true}).Status)
		require.Equal(t, 200, ask("PUT", "/columns/salary/settings", on{"isUnique": true}))
		require.Equal(t, 200, ask("PUT", "/columns/salary/settings", on{"isUnique": false}))
		require.Equal(t, 200, s.Admin.Call("PUT", path+"/primary-key", key("id")).Status)
		require.Equal(t, 200, ask("PUT", "/columns/id/settings", on{"isPrimaryKey": false}))
		return statuses
	}
	require.Equal(t, asked("one"), asked("two"))

	// Nor does who sees every row, but a column of them masked.
	s.Table("three", "SELECT * FROM (VALUES (1, 10), (7, 500)) t(id, salary)", nil, column{"id", "long"}, column{"salary", "long"})
	path := s.TablePath("three")
	require.Equal(t, 200, mine.Call("PUT", path+"/primary-key", key("id")).Status, "who sees all chooses")
	s.Rule("mask", "three", "salary", harness.AdminsSee)
	code, _ := mine.Call("PUT", path+"/columns/salary/settings", on{"isUnique": true}).Problem(t, 403)
	require.Equal(t, "table_partly_visible", code)
	code, _ = mine.Call("PUT", path+"/primary-key", key("salary")).Problem(t, 403)
	require.Equal(t, "table_partly_visible", code)
}
