package query_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// TestEachUserSeesTheRowsThatPoliciesAllow is the main job from end to end.
func TestEachUserSeesTheRowsThatPoliciesAllow(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	s.Table("sales", `SELECT i AS id, 'r' || (i % 4) AS region, i * 1.5 AS amount FROM range(1000) t(i)`, []string{"region"},
		column{"id", "long"}, column{"region", "string"}, column{"amount", "double"})
	ana := s.Member("ana@acme.example", "viewer", map[string]string{"region": "r1"})
	ben := s.Member("ben@acme.example", "viewer", map[string]string{"region": "r2"})
	count := "SELECT count(*), min(region), max(region) FROM " + s.Schema + ".sales"
	require.Equal(t, []any{[]any{1000.0, "r0", "r3"}}, ana.Rows(count), "without a policy everybody sees all rows")

	s.Policy("sales", "region", `{"effect":"permit","subject":{"attribute":"region","op":"eq"},"condition":null}`)
	require.Equal(t, []any{[]any{250.0, "r1", "r1"}}, ana.Rows(count))
	require.Equal(t, []any{[]any{250.0, "r2", "r2"}}, ben.Rows(count))
	require.Equal(t, []any{[]any{0.0, nil, nil}}, s.Admin.Rows(count), "an administrator without the attribute sees nothing")

	s.Admin.OK("PUT", "/v1/organisations/"+s.Boot.OrganisationID+"/users/"+ana.User+"/attributes", map[string]string{"region": "r3"})
	require.Equal(t, []any{[]any{250.0, "r3", "r3"}}, ana.Rows(count), "a changed attribute counts from the next statement on")

	code, _ := ana.Query("SELECT * FROM "+s.Schema+".nothing").Problem(t, http.StatusBadRequest)
	require.Equal(t, "table_not_found", code)
}
