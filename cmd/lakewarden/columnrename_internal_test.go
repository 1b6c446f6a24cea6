package main

import (
	"encoding/json"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPoliciesFollowARenamedColumn renames a column that policies of its table use to
// filter, hide or mask, and checks that everybody sees the same as before.
func TestPoliciesFollowARenamedColumn(t *testing.T) {
	s := startServer(t, nil)
	s.table("people", `SELECT i AS id, ['a', 'b'][i % 2 + 1] AS tenant, 'SECRET-' || i AS ssn, 'name ' || i AS label, i % 3 AS level FROM range(8) t(i)`, nil,
		column{"id", "long"}, column{"tenant", "string"}, column{"ssn", "string"}, column{"label", "string"}, column{"level", "long"})
	path, from := s.tablePath("people"), " FROM "+s.schema+".people"
	base := "/v1/organisations/" + s.boot.OrganisationID + "/policies"
	s.policy("people", "", `{"effect":"permit","subject":{"role":"admin"},"condition":null}`)
	byTenant := s.policy("people", "tenant", `{"effect":"permit","subject":{"attribute":"tenant","op":"eq"},"condition":null}`)
	nested := s.policy("people", "", `{"effect":"forbid","subject":{"role":"viewer"},"condition":{"or":[{"column":"level","op":"eq","value":2},{"and":[{"column":"tenant","op":"eq","value":"b"},{"not":{"column":"Level","op":"eq","value":1}}]}]}}`)
	text := s.admin.ok("POST", base, object{"kind": "rls", "tableFqn": "lake." + s.schema + ".people",
		"policyText": `permit (principal, action, resource) when { resource has level && resource.level == 9 };`})
	hidden := s.rule("cls", "people", "ssn", adminsSee)
	masked := s.rule("mask", "people", "label", adminsSee)
	off := s.policy("people", "level", `{"effect":"permit","subject":{"everyone":true},"condition":{"op":"gte","value":0}}`)
	s.admin.ok("PATCH", base+"/"+off["id"].(string), object{"enabled": false, "expectedVersion": 1})
	before := s.admin.version(path)

	callers := []*client{
		s.member("a@acme.example", "viewer", map[string]string{"tenant": "a"}), s.member("b@acme.example", "builder", map[string]string{"tenant": "b"}),
		s.member("none@acme.example", "viewer", nil), s.admin,
	}
	var seen []list
	for _, c := range callers {
		seen = append(seen, c.rows("SELECT *"+from+" ORDER BY id"))
	}
	require.Len(t, seen[0], 3)
	require.Len(t, seen[1], 4)
	require.Empty(t, seen[2])
	require.Len(t, seen[0][0], 4, "a column is hidden")

	for from, to := range map[string]string{"tenant": "org", "ssn": "social", "label": "shown", "level": "rank"} {
		s.admin.ok("PATCH", path+"/columns/"+from, object{"name": to})
	}
	require.Equal(t, before+4, s.admin.version(path))
	s.table("other", "SELECT 1 AS id", nil, column{"id", "long"})
	for i, c := range callers {
		require.Equal(t, seen[i], c.rows("SELECT *"+from+" ORDER BY id"), c.user)
		at := c.query("SELECT *" + from + " AT (VERSION => " + strconv.Itoa(int(before)) + ") ORDER BY id")
		require.Equal(t, 200, at.status, "%s", at.body)
		require.Equal(t, seen[i], at.json(t)["rows"], "what was seen then is seen now")
		require.NotContains(t, c.names(path), "tenant")
	}
	require.Equal(t, []string{"id", "org", "shown", "rank"}, callers[0].names(path))
	require.Equal(t, 400, callers[0].query("SELECT social"+from).status)

	// The policies are what they were, under the new names, each a version later.
	get := func(p map[string]any) map[string]any { return s.admin.ok("GET", base+"/"+p["id"].(string), nil) }
	require.Equal(t, list{"org", 2.0}, list{get(byTenant)["columnName"], get(byTenant)["version"]})
	require.Equal(t, "social", get(hidden)["columnName"])
	require.Equal(t, "shown", get(masked)["columnName"])
	require.Equal(t, list{"rank", false, 3.0}, list{get(off)["columnName"], get(off)["enabled"], get(off)["version"]})
	require.Equal(t, 3.0, get(nested)["version"])
	require.NotContains(t, get(nested)["policyText"], "tenant")
	require.Contains(t, get(text)["policyText"], "rank")
	history := s.admin.ok("GET", base+"/"+byTenant["id"].(string)+"/history", nil)
	require.Contains(t, string(s.admin.call("GET", base+"/"+byTenant["id"].(string)+"/history", nil).body), s.boot.UserID)
	require.NotEmpty(t, history)

	// What cannot follow keeps the name, and any policy the type.
	for _, refused := range []object{{"type": "double"}, {"type": "decimal(20,0)", "name": "x"}} {
		code, fields := s.admin.call("PATCH", path+"/columns/rank", refused).problem(t, 409)
		require.Equal(t, "column_in_use policies", code+" "+fields[0])
	}
	s.policy("", "org", `{"effect":"forbid","subject":{"everyone":true},"condition":{"op":"eq","value":"zzz"}}`)
	code, fields := s.admin.call("PATCH", path+"/columns/org", object{"name": "tenant"}).problem(t, 409)
	require.Equal(t, "column_in_use policies", code+" "+fields[0])
	s.admin.ok("POST", base, object{"kind": "rls", "tableFqn": "lake." + s.schema + ".people",
		"policyText": `permit (principal, action, resource) when { (principal has tenant && principal.tenant == "a") || (resource has rank && resource.rank == 2) };`})
	code, fields = s.admin.call("PATCH", path+"/columns/rank", object{"name": "level"}).problem(t, 409)
	require.Equal(t, "column_in_use policies", code+" "+fields[0])
	require.Len(t, fields, 1)
}

// names are the columns of a table as the caller sees them.
func (c *client) names(path string) []string { return columnsIn(c.ok("GET", path, nil)) }

// TestNoColumnMovesBesideAPolicyThatLostItsOwn: between a rename and the policies that
// follow it the table lacks the column of a policy. A second rename, or a new column of
// the old name, would give the policy another column.
func TestNoColumnMovesBesideAPolicyThatLostItsOwn(t *testing.T) {
	s := startServer(t, nil)
	dir := s.table("loans", `SELECT 1 AS id, 'secret' AS a, 'x' AS note`, nil, column{"id", "long"}, column{"a", "string"}, column{"note", "string"})
	path := s.tablePath("loans")
	s.policy("loans", "", `{"effect":"permit","subject":{"everyone":true},"condition":{"column":"a","op":"is_null"}}`)
	ben := s.member("ben@acme.example", "builder", nil)
	require.Empty(t, ben.rows("SELECT id FROM "+s.schema+".loans"))

	renameElsewhere(t, dir, "a", "b")

	version := s.admin.version(path)
	for _, r := range []reply{
		ben.call("PATCH", path+"/columns/b", object{"name": "c"}),
		ben.call("PATCH", path+"/columns/note", object{"name": "more"}),
		ben.call("POST", path+"/columns", object{"name": "a", "type": "string"}),
		ben.call("POST", path+"/columns", object{"name": "b2", "type": "string"}),
		s.admin.call("POST", path+"/columns", object{"name": "more", "type": "string"}),
	} {
		code, fields := r.problem(t, 409)
		require.Equal(t, "column_in_use", code)
		require.Equal(t, "policies", fields[0])
	}
	require.Equal(t, version, s.admin.version(path))
	require.Empty(t, ben.rows("SELECT id FROM "+s.schema+".loans"))
}

// TestPoliciesAreCorrectedAfterARename checks that an administrator restores what
// everybody sees when no policy followed a renamed column, and that nobody sees more in
// between.
func TestPoliciesAreCorrectedAfterARename(t *testing.T) {
	s := startServer(t, nil)
	dir := s.table("people", `SELECT i AS id, ['a', 'b'][i % 2 + 1] AS tenant, 'SECRET-' || i AS ssn FROM range(8) t(i)`, nil,
		column{"id", "long"}, column{"tenant", "string"}, column{"ssn", "string"})
	const byTenant = `{"effect":"permit","subject":{"attribute":"tenant","op":"eq"},"condition":null}`
	rows, hidden := s.policy("people", "tenant", byTenant), s.rule("cls", "people", "ssn", adminsSee)
	reader := s.member("a@acme.example", "viewer", map[string]string{"tenant": "a"})
	sql := "SELECT id FROM " + s.schema + ".people ORDER BY id"
	seen := reader.rows(sql)
	require.Len(t, seen, 4)

	correct := func(policy map[string]any, kind, column, definition string) {
		base := "/v1/organisations/" + s.boot.OrganisationID + "/policies/"
		s.admin.ok("PUT", base+policy["id"].(string), object{"kind": kind, "tableFqn": "lake." + s.schema + ".people", "columnName": column,
			"definition": json.RawMessage(definition), "expectedVersion": policy["version"]})
	}
	renameElsewhere(t, dir, "tenant", "org")
	restart := func() {
		s.restart()
		reader = s.client(reader.key, reader.user)
	}
	restart()
	require.Empty(t, reader.rows(sql), "no row can be decided")
	correct(rows, "rls", "org", byTenant)
	require.Equal(t, seen, reader.rows(sql))

	renameElsewhere(t, dir, "ssn", "social")
	restart()
	for _, c := range []*client{reader, s.admin} {
		code, _ := c.query(sql).problem(t, 409)
		require.Equal(t, "policy_not_usable", code)
	}
	correct(hidden, "cls", "social", adminsSee)
	require.Equal(t, seen, reader.rows(sql))
	require.Equal(t, []string{"id", "org"}, reader.names(s.tablePath("people")))
}
