package policy_test

import (
	"net/http"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

func TestPolicyVersions(t *testing.T) {
	t.Parallel()
	s, base, fqn := policyWorld(t)
	p := s.Policy("people", "region", `{"effect":"permit","subject":{"attribute":"region","op":"eq"}}`)
	path := base + "/" + p["id"].(string)
	full := map[string]any{"kind": "rls", "tableFqn": fqn, "definition": harness.Definition(harness.Everyone)}

	// Missing.
	for _, c := range []struct {
		method string
		body   any
	}{{"PATCH", map[string]any{"enabled": false}}, {"PUT", full}, {"DELETE", nil}} {
		_, fields := s.Admin.Call(c.method, path, c.body).Problem(t, 422)
		require.Equal(t, []string{"expectedVersion"}, fields, c.method)
	}
	// Not a version.
	for _, match := range []string{"*", `"x"`, `W/"1"`, "0", "-1", `"99999999999999999999"`} {
		_, fields := s.Admin.Call("PATCH", path, map[string]any{"enabled": false}, "If-Match", match).Problem(t, 422)
		require.Equal(t, []string{"If-Match"}, fields, match)
	}
	// The toggle of the interface.
	off := s.Admin.OK("PATCH", path, map[string]any{"enabled": false, "expectedVersion": 1})
	require.Equal(t, 2.0, off["version"])
	require.Equal(t, false, off["enabled"])
	for _, same := range []string{"id", "tableFqn", "tableId", "columnName", "kind", "policyText", "definition", "createdAt"} {
		require.Equal(t, p[same], off[same], same)
	}
	require.Equal(t, 12.0, s.Admin.Count(s.Schema+".people"), "a policy that is switched off filters nothing")
	// Stale.
	for _, c := range []struct {
		method, path string
		body         any
	}{
		{"PATCH", path, map[string]any{"enabled": true, "expectedVersion": 1}},
		{"PUT", path, map[string]any{"tableFqn": fqn, "definition": harness.Definition(harness.Everyone), "expectedVersion": 1}},
		{"DELETE", path + "?expectedVersion=1", nil},
	} {
		r := s.Admin.Call(c.method, c.path, c.body)
		code, fields := r.Problem(t, 409)
		require.Equal(t, "version_conflict", code)
		require.Equal(t, []string{"expectedVersion"}, fields)
		require.Contains(t, string(r.Body), "current version is 2")
	}
	r := s.Admin.Call("PATCH", path, map[string]any{"enabled": true}, "If-Match", `"1"`)
	r.Problem(t, 409)
	require.Equal(t, 200, s.Admin.Call("PATCH", path, map[string]any{"enabled": true}, "If-Match", `"2"`).Status)
	require.Equal(t, 0.0, s.Admin.Count(s.Schema+".people"))
	require.Equal(t, 200, s.Admin.Call("DELETE", path, nil, "If-Match", "3").Status)
	s.Admin.Call("GET", path, nil).Problem(t, 404)
	s.Admin.Call("PATCH", path, map[string]any{"enabled": true, "expectedVersion": 4}).Problem(t, 404)
}

func TestPolicyPatchAndPut(t *testing.T) {
	t.Parallel()
	s, base, fqn := policyWorld(t)
	p := s.Policy("people", "region", `{"effect":"permit","subject":{"attribute":"region","op":"eq"}}`)
	path := base + "/" + p["id"].(string)
	for _, field := range []string{"tableFqn", "tableId", "columnName"} {
		_, fields := s.Admin.Call("PATCH", path, map[string]any{"expectedVersion": 1, field: nil}).Problem(t, 422)
		require.Equal(t, []string{field}, fields)
	}
	// The text of a policy that a definition made follows its column.
	moved := s.Admin.OK("PATCH", path, map[string]any{"expectedVersion": 1, "columnName": "id"})
	require.Equal(t, "id", moved["columnName"])
	require.Equal(t, p["definition"], moved["definition"])
	require.NotEqual(t, p["policyText"], moved["policyText"])
	require.Contains(t, moved["policyText"], "id")
	// The last one sent decides: a text takes the definition's place.
	text := s.Admin.OK("PATCH", path, map[string]any{"expectedVersion": 2, "policyText": p["policyText"]})
	require.Equal(t, p["policyText"], text["policyText"])
	_, fields := s.Admin.Call("PATCH", path, map[string]any{"expectedVersion": 3, "policyText": p["policyText"],
		"definition": harness.Definition(harness.Everyone)}).Problem(t, 422)
	require.Equal(t, []string{"definition"}, fields)
	// Another table.
	other := s.Admin.OK("PATCH", path, map[string]any{"expectedVersion": 3, "tableFqn": "lake." + s.Schema + ".other", "columnName": "region"})
	require.Equal(t, "lake."+s.Schema+".other", other["tableFqn"])
	require.NotEqual(t, p["tableId"], other["tableId"])
	require.Equal(t, 12.0, s.Admin.Count(s.Schema+".people"))
	require.Equal(t, 0.0, s.Admin.Count(s.Schema+".other"))
	// PUT clears what it does not name.
	wide := s.Admin.OK("PUT", path, map[string]any{"expectedVersion": 4, "tableFqn": nil,
		"definition": harness.Definition(`{"effect":"permit","subject":{"role":"viewer"}}`)})
	require.Nil(t, wide["tableFqn"])
	require.Nil(t, wide["tableId"])
	require.Nil(t, wide["columnName"])
	require.Equal(t, 0.0, s.Admin.Count(s.Schema+".plain"), "a policy without table and column is one of every table")
	_ = fqn

	history := s.Admin.OK("GET", path+"/history", nil)["revisions"].([]any)
	require.Len(t, history, 5)
	for i, h := range history {
		revision := h.(map[string]any)
		require.Equal(t, float64(5-i), revision["version"], "newest first")
		require.Equal(t, s.Admin.User, revision["changedBy"])
		require.Equal(t, map[bool]string{true: "create", false: "update"}[i == 4], revision["action"])
	}
	require.Equal(t, p["policyText"], history[4].(map[string]any)["policyText"])
	s.Admin.OK("DELETE", path+"?expectedVersion=5", nil)
	history = s.Admin.OK("GET", path+"/history?page_size=2", nil)["revisions"].([]any)
	require.Len(t, history, 2)
	require.Equal(t, "delete", history[0].(map[string]any)["action"], "history outlives the policy")
}

func TestManyParallelPatchesWithOneVersionHaveOneWinner(t *testing.T) {
	t.Parallel()
	s, base, _ := policyWorld(t)
	p := s.Policy("people", "", harness.Everyone)
	path := base + "/" + p["id"].(string)
	const writers = 100
	statuses := make([]int, writers)
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			definition := harness.Definition(`{"effect":"permit","subject":{"everyone":true},"condition":{"column":"id","op":"eq","value":` +
				strconv.Itoa(i) + `}}`)
			statuses[i] = s.Admin.Call("PATCH", path, map[string]any{"expectedVersion": 1, "definition": definition}).Status
		})
	}
	wg.Wait()
	won := -1
	for i, status := range statuses {
		if status == http.StatusOK {
			require.Equal(t, -1, won, "two winners")
			won = i
		} else {
			require.Equal(t, http.StatusConflict, status)
		}
	}
	require.NotEqual(t, -1, won)
	got := s.Admin.OK("GET", path, nil)
	require.Equal(t, 2.0, got["version"])
	require.Equal(t, float64(won), got["definition"].(map[string]any)["condition"].(map[string]any)["value"])
	require.Len(t, s.Admin.OK("GET", path+"/history", nil)["revisions"], 2)
}
