package policy_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

func TestSimulationAndEffectivePolicies(t *testing.T) {
	t.Parallel()
	s, base, fqn := policyWorld(t)
	org := "/v1/organisations/" + s.Boot.OrganisationID
	ana := s.Member("ana@acme.example", "builder", map[string]string{"region": "r1"})
	mine := "/v1/tables/lake/" + s.Schema + "/people/effective-policies"
	require.Equal(t, map[string]any{"restricted": false, "wholeTable": true, "policies": []any{}}, ana.OK("GET", mine, nil))
	free := s.Admin.OK("POST", base+"/simulate", map[string]any{"tableFqn": fqn, "userId": ana.User})
	require.Equal(t, false, free["restricted"])
	require.Equal(t, 12.0, free["visibleRowCount"])
	p := s.Policy("people", "region", `{"effect":"permit","subject":{"attribute":"region","op":"eq"}}`)

	require.Equal(t, map[string]any{
		"restricted": true, "wholeTable": false, "policies": []any{map[string]any{"kind": "rls", "columnName": "region"}},
	}, ana.OK("GET", mine, nil), "kinds and columns, not texts or ids")
	user := s.Admin.OK("GET", org+"/users/"+ana.User+"/effective-policies?tableFqn="+fqn, nil)
	byUser := s.Admin.OK("POST", base+"/simulate", map[string]any{"tableFqn": fqn, "userId": ana.User})
	require.Equal(t, user, byUser)
	require.Equal(t, true, byUser["restricted"])
	require.Equal(t, 4.0, byUser["visibleRowCount"])
	require.Contains(t, byUser["predicate"], "r1")
	require.Equal(t, p["id"], byUser["policies"].([]any)[0].(map[string]any)["id"])
	byRole := s.Admin.OK("POST", base+"/simulate", map[string]any{"tableFqn": fqn, "role": "viewer",
		"attributes": map[string]string{"region": "r2"}})
	require.Equal(t, 4.0, byRole["visibleRowCount"])
	require.Equal(t, 0.0, s.Admin.OK("POST", base+"/simulate", map[string]any{"tableFqn": fqn, "role": "admin"})["visibleRowCount"])

	for _, c := range []struct {
		field string
		body  map[string]any
	}{
		{"userId", map[string]any{"tableFqn": fqn}},
		{"userId", map[string]any{"tableFqn": fqn, "userId": ana.User, "role": "viewer"}},
		{"attributes", map[string]any{"tableFqn": fqn, "userId": ana.User, "attributes": map[string]string{"a": "b"}}},
		{"userId", map[string]any{"tableFqn": fqn, "userId": uuid.NewString()}},
		{"tableFqn", map[string]any{"tableFqn": "lake.nowhere.people", "role": "viewer"}},
		{"tableFqn", map[string]any{"tableFqn": "x", "role": "viewer"}},
		{"role", map[string]any{"tableFqn": fqn, "role": "boss"}},
	} {
		_, fields := s.Admin.Call("POST", base+"/simulate", c.body).Problem(t, 422)
		require.Equal(t, []string{c.field}, fields)
	}
	for _, r := range []harness.Reply{
		ana.Call("POST", base+"/simulate", map[string]any{"tableFqn": fqn, "role": "viewer"}),
		ana.Call("GET", org+"/users/"+ana.User+"/effective-policies?tableFqn="+fqn, nil),
	} {
		code, _ := r.Problem(t, 403)
		require.Equal(t, "insufficient_scope", code)
	}
}

// TestFilteredCallersLearnNothingFromDescriptions checks that filtered callers get no
// counts, sizes, metrics or parameters of commits, which depend on hidden rows.
func TestFilteredCallersLearnNothingFromDescriptions(t *testing.T) {
	s, _, _ := policyWorld(t)
	table := "/v1/tables/lake/" + s.Schema + "/people"
	open := s.Admin.OK("GET", table, nil)
	require.Equal(t, 12.0, open["rows"])
	require.Equal(t, 1.0, open["files"])
	require.NotNil(t, s.Admin.OK("GET", table+"/history", nil)["versions"].([]any)[0].(map[string]any)["operationParameters"])
	s.Policy("people", "id", `{"effect":"permit","subject":{"everyone":true},"condition":{"op":"lt","value":3}}`)
	filtered := s.Admin.OK("GET", table, nil)
	for _, field := range []string{"rows", "files", "bytes"} {
		require.Contains(t, filtered, field)
		require.Nil(t, filtered[field], field)
	}
	for _, v := range s.Admin.OK("GET", table+"/history", nil)["versions"].([]any) {
		require.NotContains(t, v, "operationParameters")
		require.NotContains(t, v, "operationMetrics")
	}
	require.Equal(t, open["columns"], filtered["columns"])
}
