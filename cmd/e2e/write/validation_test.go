package write_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// TestChecksOfRulesContinueAsOperations checks that the check of all rows can continue
// without its request, and reports its result.
func TestChecksOfRulesContinueAsOperations(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	s.Table("people", `SELECT i AS id, i % 10 AS a FROM range(200000) t(i)`, nil, column{"id", "long"}, column{"a", "long"})
	path := s.TablePath("people")
	start := func(c *harness.Client, method, below string, body any) object {
		t.Helper()
		r := c.Call(method, path+below, body, "Prefer", "respond-async")
		require.Equal(t, 202, r.Status, "%s", r.Body)
		require.Equal(t, "validate", r.JSON(t)["kind"])
		return r.JSON(t)
	}
	ended := func(o object, state string) object {
		t.Helper()
		got := s.Admin.Await(o)
		require.Equal(t, state, got["state"], "%v", got)
		return got
	}

	got := ended(start(s.Admin, "PUT", "/primary-key", object{"columns": list{"id"}}), "succeeded")
	require.Equal(t, object{}, got["result"])
	require.Equal(t, "rules", got["progress"].(object)["unit"])
	require.Equal(t, 1.0, got["progress"].(object)["total"])
	keyed := func() any {
		return s.Admin.OK("GET", path+"/columns", nil)["columns"].([]any)[0].(object)["isPrimaryKey"]
	}
	require.Equal(t, true, keyed())
	got = ended(start(s.Admin, "PUT", "/columns/a/settings", object{"isUnique": true}), "failed")
	require.Equal(t, "constraint_violation", got["error"].(object)["code"], "%v", got)
	got = ended(start(s.Admin, "PUT", "/columns/a/settings", object{"isNullable": false}), "succeeded")
	require.Equal(t, object{}, got["result"])

	// A constraint holds at once, whatever becomes of the look at the rows.
	o := start(s.Admin, "POST", "/constraints", object{"constraints": list{object{"name": "small", "expr": "a < 9"}}})
	s.Admin.Call("POST", path+"/rows", harness.RowsOf(object{"id": -1, "a": 9})).Problem(t, 422)
	ended(o, "succeeded")
	got = ended(start(s.Admin, "POST", "/constraints/small/validate", nil), "failed")
	require.Equal(t, "constraint_violation", got["error"].(object)["code"])
	s.Admin.Write(path+"/rows/delete", object{"where": "a = 9"})
	got = ended(start(s.Admin, "POST", "/constraints/small/validate", nil), "succeeded")
	require.Equal(t, list{"small", true}, list{got["result"].(object)["name"], got["result"].(object)["validated"]}, "%v", got)

	// What may not be done is refused before there is an operation.
	viewer := s.Member("v@acme.example", "viewer", nil)
	require.Equal(t, 403, viewer.Call("PUT", path+"/primary-key", object{"columns": list{}}, "Prefer", "respond-async").Status)
	require.Equal(t, 404, s.Admin.Call("PUT", s.TablePath("none")+"/primary-key", object{"columns": list{}}, "Prefer", "respond-async").Status)

	// One that is cancelled has changed the table or not.
	o = start(s.Admin, "PUT", "/primary-key", object{"columns": list{"a", "id"}})
	s.Admin.OK("DELETE", "/v1/operations/"+o["id"].(string), nil)
	got = s.Admin.Await(o)
	key := list{}
	for _, c := range s.Admin.OK("GET", path+"/columns", nil)["columns"].([]any) {
		key = append(key, c.(object)["isPrimaryKey"])
	}
	if got["state"] == "cancelled" {
		require.Equal(t, list{true, false}, key)
	} else {
		require.Equal(t, list{"succeeded", list{true, true}}, list{got["state"], key}, "%v", got)
	}
}
