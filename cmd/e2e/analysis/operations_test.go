package analysis_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

func TestAnalysesContinueAsOperations(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	path := shop(t, s, "later")
	direct := analyze(t, s.Admin, path, object{"action": "fix_nulls"})
	r := s.Admin.Call("POST", path+"/analyze", object{"action": "fix_nulls"}, "Prefer", "respond-async")
	require.Equal(t, 202, r.Status, "%s", r.Body)
	started := r.JSON(t)
	require.Equal(t, "analyze", started["kind"])
	ended := s.Admin.Await(started)
	require.Equal(t, "succeeded", ended["state"])
	require.NotContains(t, jsonText(ended), "n/a", "the record of the operation has no value of a row")
	at := "/v1/operations/" + started["id"].(string) + "/analysis"
	require.Equal(t, direct, s.Admin.OK("GET", at, nil))

	other := s.Member("other@acme.example", "admin", nil)
	require.Equal(t, 200, other.Call("GET", "/v1/operations/"+started["id"].(string), nil).Status)
	code, _ := other.Call("GET", at, nil).Problem(t, 403)
	require.Equal(t, "not_owner", code, "an administrator may see other rows")

	s.Policy("later", "region", harness.AdminsSee)
	code, _ = s.Admin.Call("GET", at, nil).Problem(t, 409)
	require.Equal(t, "result_stale", code)

	query := s.Admin.Start("SELECT 1 AS a")
	s.Admin.Await(query)
	s.Admin.Call("GET", "/v1/operations/"+query["id"].(string)+"/analysis", nil).Problem(t, 404)
}

func TestAnalysesAreCancelled(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	s.Table("large", `SELECT range AS id, 'name ' || (range * 7919 % 300000) AS name, 'street ' || (range * 31 % 70000) AS street
		FROM range(600000)`, nil, column{"id", "long"}, column{"name", "string"}, column{"street", "string"})
	r := s.Admin.Call("POST", s.TablePath("large")+"/analyze", object{"action": "find_duplicates"}, "Prefer", "respond-async")
	require.Equal(t, 202, r.Status, "%s", r.Body)
	started := r.JSON(t)
	s.Admin.OK("DELETE", "/v1/operations/"+started["id"].(string), nil)
	require.Equal(t, "cancelled", s.Admin.Await(started)["state"])
	s.Admin.Call("GET", "/v1/operations/"+started["id"].(string)+"/analysis", nil).Problem(t, 409)
}
