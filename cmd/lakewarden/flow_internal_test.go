package main

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEachUserSeesTheRowsThatPoliciesAllow is the main job from end to end.
func TestEachUserSeesTheRowsThatPoliciesAllow(t *testing.T) {
	s := startServer(t, nil)
	s.table("sales", `SELECT i AS id, 'r' || (i % 4) AS region, i * 1.5 AS amount FROM range(1000) t(i)`, []string{"region"},
		column{"id", "long"}, column{"region", "string"}, column{"amount", "double"})
	ana := s.member("ana@acme.example", "viewer", map[string]string{"region": "r1"})
	ben := s.member("ben@acme.example", "viewer", map[string]string{"region": "r2"})
	count := "SELECT count(*), min(region), max(region) FROM " + s.schema + ".sales"
	require.Equal(t, []any{[]any{1000.0, "r0", "r3"}}, ana.rows(count), "without a policy everybody sees all rows")

	s.policy("sales", "region", `{"effect":"permit","subject":{"attribute":"region","op":"eq"},"condition":null}`)
	require.Equal(t, []any{[]any{250.0, "r1", "r1"}}, ana.rows(count))
	require.Equal(t, []any{[]any{250.0, "r2", "r2"}}, ben.rows(count))
	require.Equal(t, []any{[]any{0.0, nil, nil}}, s.admin.rows(count), "an administrator without the attribute sees nothing")

	s.admin.ok("PUT", "/v1/organisations/"+s.boot.OrganisationID+"/users/"+ana.user+"/attributes", map[string]string{"region": "r3"})
	require.Equal(t, []any{[]any{250.0, "r3", "r3"}}, ana.rows(count), "a changed attribute counts from the next statement on")

	code, _ := ana.query("SELECT * FROM "+s.schema+".nothing").problem(t, http.StatusBadRequest)
	require.Equal(t, "table_not_found", code)
}
