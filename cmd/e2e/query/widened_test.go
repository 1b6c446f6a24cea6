package query_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// TestWidenedColumnsAreComparedInTheirType writes rows, widens their columns and
// compares on every path with constants that only the wider type can hold.
func TestWidenedColumnsAreComparedInTheirType(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	path := s.Create("w", nil, map[string]any{"name": "i", "type": "integer"}, map[string]any{"name": "d", "type": "date"},
		map[string]any{"name": "x", "type": "decimal(5,1)"}, map[string]any{"name": "n", "type": "long"})
	s.Admin.Write(path+"/rows", `{"rows":[{"i":2,"d":"2024-09-09","x":2.5,"n":1}]}`)
	for column, typ := range map[string]string{"i": "double", "d": "timestamp_ntz", "x": "decimal(8,3)"} {
		s.Admin.OK(http.MethodPatch, path+"/columns/"+column, map[string]any{"type": typ})
	}
	s.Admin.Write(path+"/rows", `{"rows":[{"i":7.5,"d":"2024-09-10T10:00:00","x":7.125,"n":2}]}`)
	table := "lake." + s.Schema + ".w"
	for where, want := range map[string][]any{
		"i > 1.6":                              {1.0, 2.0},
		"i >= 2.4":                             {2.0},
		"i = 2.4":                              {},
		"x <> 2.54":                            {1.0, 2.0},
		"x = 2.54":                             {},
		"d >= TIMESTAMP '2024-09-09 12:00:00'": {2.0},
		"i IN (SELECT 1.6::DOUBLE UNION ALL SELECT 2.4)":                   {},
		"i > (SELECT min(i) - 0.4 FROM lake." + s.Schema + ".w)":           {1.0, 2.0},
		"EXISTS (SELECT 1 FROM (VALUES (2.4::DOUBLE)) v(c) WHERE c = i)":   {},
		"struct_pack(a := i).a BETWEEN 1.6 AND 1.9 OR i BETWEEN 2.1 AND 3": {},
	} {
		got := []any{}
		for _, row := range s.Admin.Rows("SELECT n FROM " + table + " WHERE " + where + " ORDER BY n") {
			got = append(got, row.([]any)[0])
		}
		require.Equal(t, want, got, where)
	}

	// A condition of an update or delete.
	_, updated, _ := s.Admin.Write(path+"/rows/update", map[string]any{"where": "i >= 2.4 AND i < 7", "set": map[string]any{"n": "n + 10"}})
	require.Zero(t, updated)
	_, _, deleted := s.Admin.Write(path+"/rows/delete", map[string]any{"where": "x = 2.54 OR i = 2.4"})
	require.Zero(t, deleted)

	// A key of a merge.
	inserted, updated, _ := s.Admin.Write(path+"/rows/merge", map[string]any{"on": []string{"i"},
		"rows": []any{map[string]any{"i": 2.4, "n": 3}}})
	require.Equal(t, []float64{1, 0}, []float64{inserted, updated})
	s.Admin.Write(path+"/rows/delete", map[string]any{"where": "n = 3"})

	// A key and a constraint.
	s.Admin.OK(http.MethodPut, path+"/primary-key", map[string]any{"columns": []string{"x"}})
	s.Admin.Write(path+"/rows", `{"rows":[{"i":1.5,"x":2.54,"n":4}]}`)
	code, _ := s.Admin.Call(http.MethodPost, path+"/rows", `{"rows":[{"i":1.5,"x":2.5,"n":5}]}`).Problem(t, http.StatusConflict)
	require.Equal(t, "key_conflict", code)
	s.Admin.Write(path+"/rows/delete", map[string]any{"where": "n = 4"})
	s.Admin.OK(http.MethodPost, path+"/constraints", map[string]any{"constraints": []any{map[string]any{"name": "c", "expr": "x <> 2.54"}}})
	code, _ = s.Admin.Call(http.MethodPost, path+"/rows", `{"rows":[{"i":1.5,"x":2.54,"n":5}]}`).Problem(t, http.StatusUnprocessableEntity)
	require.Equal(t, "rule_violation", code)

	// A row policy.
	reader := s.Member("reader@acme.example", "viewer", nil)
	s.Admin.OK(http.MethodPost, "/v1/organisations/"+s.Boot.OrganisationID+"/policies", map[string]any{
		"kind": "rls", "tableFqn": table,
		"policyText": `permit (principal, action, resource) when { resource.d >= datetime("2024-09-09T12:00:00Z") };`,
	})
	require.Equal(t, []any{[]any{2.0}}, reader.Rows("SELECT n FROM "+table+" ORDER BY n"))
}
