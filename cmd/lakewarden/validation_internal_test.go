package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRulesAreJudgedAsOperations: a look at all rows can be work that goes on
// without its request, and says what it came to.
func TestRulesAreJudgedAsOperations(t *testing.T) {
	s := startServer(t, nil)
	s.table("people", `SELECT i AS id, i % 10 AS a FROM range(200000) t(i)`, nil, column{"id", "long"}, column{"a", "long"})
	path := s.tablePath("people")
	start := func(c *client, method, below string, body any) object {
		t.Helper()
		r := c.call(method, path+below, body, "Prefer", "respond-async")
		require.Equal(t, 202, r.status, "%s", r.body)
		require.Equal(t, "validate", r.json(t)["kind"])
		return r.json(t)
	}
	ended := func(o object, state string) object {
		t.Helper()
		got := s.admin.await(o)
		require.Equal(t, state, got["state"], "%v", got)
		return got
	}

	got := ended(start(s.admin, "PUT", "/primary-key", object{"columns": list{"id"}}), "succeeded")
	require.Equal(t, object{}, got["result"])
	require.Equal(t, "rules", got["progress"].(object)["unit"])
	require.Equal(t, 1.0, got["progress"].(object)["total"])
	keyed := func() any {
		return s.admin.ok("GET", path+"/columns", nil)["columns"].([]any)[0].(object)["isPrimaryKey"]
	}
	require.Equal(t, true, keyed())
	got = ended(start(s.admin, "PUT", "/columns/a/settings", object{"isUnique": true}), "failed")
	require.Equal(t, "constraint_violation", got["error"].(object)["code"], "%v", got)
	got = ended(start(s.admin, "PUT", "/columns/a/settings", object{"isNullable": false}), "succeeded")
	require.Equal(t, object{}, got["result"])

	// A constraint holds at once, whatever becomes of the look at the rows.
	o := start(s.admin, "POST", "/constraints", object{"constraints": list{object{"name": "small", "expr": "a < 9"}}})
	s.admin.call("POST", path+"/rows", rowsOf(object{"id": -1, "a": 9})).problem(t, 422)
	ended(o, "succeeded")
	got = ended(start(s.admin, "POST", "/constraints/small/validate", nil), "failed")
	require.Equal(t, "constraint_violation", got["error"].(object)["code"])
	s.admin.write(path+"/rows/delete", object{"where": "a = 9"})
	got = ended(start(s.admin, "POST", "/constraints/small/validate", nil), "succeeded")
	require.Equal(t, list{"small", true}, list{got["result"].(object)["name"], got["result"].(object)["validated"]}, "%v", got)

	// What may not be done is refused before there is an operation.
	viewer := s.member("v@acme.example", "viewer", nil)
	require.Equal(t, 403, viewer.call("PUT", path+"/primary-key", object{"columns": list{}}, "Prefer", "respond-async").status)
	require.Equal(t, 404, s.admin.call("PUT", s.tablePath("none")+"/primary-key", object{"columns": list{}}, "Prefer", "respond-async").status)

	// One that is cancelled has changed the table or not.
	o = start(s.admin, "PUT", "/primary-key", object{"columns": list{"a", "id"}})
	s.admin.ok("DELETE", "/v1/operations/"+o["id"].(string), nil)
	got = s.admin.await(o)
	key := list{}
	for _, c := range s.admin.ok("GET", path+"/columns", nil)["columns"].([]any) {
		key = append(key, c.(object)["isPrimaryKey"])
	}
	if got["state"] == "cancelled" {
		require.Equal(t, list{true, false}, key)
	} else {
		require.Equal(t, list{"succeeded", list{true, true}}, list{got["state"], key}, "%v", got)
	}
}
