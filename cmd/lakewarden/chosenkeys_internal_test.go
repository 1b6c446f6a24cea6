package main

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// A key of one's own choice asks all rows about values of one's own choice, with
// each write after. Two tables that differ in a hidden row only answer alike.
func TestFilteredCallersChooseNoKeys(t *testing.T) {
	s := startServer(t, nil)
	type on = map[string]any
	builder := s.member("b@acme.example", "builder", nil)
	mine := s.member("m@acme.example", "builder", map[string]string{"masked": "yes"})
	worlds := map[string]int{"one": 500, "two": 900}
	for name, salary := range worlds {
		s.table(name, "SELECT * FROM (VALUES (1, 10, 'mine'), (7, "+strconv.Itoa(salary)+", 'theirs')) t(id, salary, dept)", nil,
			column{"id", "long"}, column{"salary", "long"}, column{"dept", "string"})
		s.policy(name, "dept", `{"effect":"permit","subject":{"role":"admin"}}`)
		s.policy(name, "dept", `{"effect":"permit","subject":{"everyone":true},"condition":{"column":"dept","op":"eq","value":"mine"}}`)
	}
	key := func(columns ...string) on { return on{"columns": append([]string{}, columns...)} }

	asked := func(name string) (statuses []int) {
		path := s.tablePath(name)
		ask := func(method, to string, body on) int {
			statuses = append(statuses, builder.call(method, path+to, body).status)
			return statuses[len(statuses)-1]
		}
		probe := func() {
			for _, salary := range []int{500, 900} {
				ask("POST", "/rows?dry_run=true", rowsOf(object{"id": 7, "salary": salary, "dept": "mine"}))
			}
		}
		refused := func(method, to string, body on) {
			t.Helper()
			before := s.admin.version(path)
			require.Equal(t, 403, ask(method, to, body))
			require.Equal(t, before, s.admin.version(path), "nothing was committed")
			probe()
		}
		probe()
		refused("PUT", "/primary-key", key("id", "salary"))
		refused("PUT", "/columns/id/settings", on{"isPrimaryKey": true})
		refused("PUT", "/columns/salary/settings", on{"isPrimaryKey": true, "isNullable": false})
		refused("PUT", "/columns/salary/settings", on{"isUnique": true})
		// What is wrong with every table is said all the same.
		require.Equal(t, 422, ask("PUT", "/primary-key", key("nope")))

		// A part of a key is another key.
		require.Equal(t, 200, s.admin.call("PUT", path+"/primary-key", key("id", "salary", "dept")).status)
		refused("PUT", "/columns/dept/settings", on{"isPrimaryKey": false})
		refused("PUT", "/primary-key", key("id", "salary"))
		refused("PUT", "/columns/salary/settings", on{"isPrimaryKey": false, "isUnique": true})
		// What is there stays, or goes.
		require.Equal(t, 200, ask("PUT", "/primary-key", key("id", "salary", "dept")))
		require.Equal(t, 200, ask("PUT", "/columns/id/settings", on{"isPrimaryKey": true}))
		require.Equal(t, 200, ask("PUT", "/columns/id/settings", on{"isNullable": true}))
		require.Equal(t, 200, ask("PUT", "/primary-key", key()))
		require.Equal(t, 200, s.admin.call("PUT", path+"/columns/salary/settings", on{"isUnique": true}).status)
		require.Equal(t, 200, ask("PUT", "/columns/salary/settings", on{"isUnique": true}))
		require.Equal(t, 200, ask("PUT", "/columns/salary/settings", on{"isUnique": false}))
		require.Equal(t, 200, s.admin.call("PUT", path+"/primary-key", key("id")).status)
		require.Equal(t, 200, ask("PUT", "/columns/id/settings", on{"isPrimaryKey": false}))
		return statuses
	}
	require.Equal(t, asked("one"), asked("two"))

	// Nor does who sees every row, but a column of them masked.
	s.table("three", "SELECT * FROM (VALUES (1, 10), (7, 500)) t(id, salary)", nil, column{"id", "long"}, column{"salary", "long"})
	path := s.tablePath("three")
	require.Equal(t, 200, mine.call("PUT", path+"/primary-key", key("id")).status, "who sees all chooses")
	s.rule("mask", "three", "salary", adminsSee)
	code, _ := mine.call("PUT", path+"/columns/salary/settings", on{"isUnique": true}).problem(t, 403)
	require.Equal(t, "forbidden", code)
	code, _ = mine.call("PUT", path+"/primary-key", key("salary")).problem(t, 403)
	require.Equal(t, "forbidden", code)
}
