package analysis_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// Answers about versions of a replaced table are under the policies of that table, too, even
// if they are kept.
func TestAnswersFollowThePoliciesOfReplacedTables(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	columns := []column{{"id", "long"}, {"region", "string"}}
	dir := s.Table("once", "SELECT range AS id, CASE WHEN range % 2 = 0 THEN 'eu' ELSE 'us' END AS region FROM range(40)", nil, columns...)
	s.Admin.Write(s.TablePath("once")+"/rows", harness.RowsOf(object{"id": 100, "region": "us"}))
	s.Policy("once", "", `{"effect":"permit","subject":{"everyone":true},"condition":null}`)
	policies := "/v1/organisations/" + s.Boot.OrganisationID + "/policies/"
	enable := func(p object, on bool) object {
		return s.Admin.OK("PATCH", policies+p["id"].(string), object{"enabled": on, "expectedVersion": p["version"]})
	}
	closing := enable(s.Policy("once", "region", `{"effect":"forbid","subject":{"role":"builder"}}`), false)
	harness.ReplaceTable(t, dir, "", "SELECT range AS id, 'eu' AS region FROM range(3)", columns...)
	s.Adopt("once", false)
	builder := s.Member("once@acme.example", "builder", nil)
	path, body := s.TablePath("once"), object{"action": "explain_changes", "version_from": 1, "version_to": 2}
	for range 2 { // the second answer is a kept one
		require.Equal(t, 1.0, analyze(t, builder, path, body)["result"].(object)["inserted"])
	}
	started := builder.Call("POST", path+"/analyze", body, "Prefer", "respond-async").JSON(t)
	builder.Await(started)
	at := "/v1/operations/" + started["id"].(string) + "/analysis"
	builder.OK("GET", at, nil)
	reads := object{"action": "summary", "where": "id NOT IN (SELECT id FROM " + s.Schema + ".once AS o AT (VERSION => 1))"}
	require.Equal(t, []string{"where"}, refused(t, builder, 422, "invalid_field", "POST", path+"/analyze", reads),
		"a version of a replaced table is another table")

	enable(closing, true)
	refused(t, builder, 403, "forbidden", "POST", path+"/analyze", body)
	refused(t, builder, 409, "result_stale", "GET", at, nil)
}
