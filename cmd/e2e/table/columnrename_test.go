package table_test

import (
	"encoding/json"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// TestPoliciesFollowARenamedColumn renames a column that policies of its table use to
// filter, hide or mask, and checks that everybody sees the same as before.
func TestPoliciesFollowARenamedColumn(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	s.Table("people", `SELECT i AS id, ['a', 'b'][i % 2 + 1] AS tenant, 'SECRET-' || i AS ssn, 'name ' || i AS label, i % 3 AS level FROM `+
		`range(8) t(i)`, nil,
		column{"id", "long"}, column{"tenant", "string"}, column{"ssn", "string"}, column{"label", "string"}, column{"level", "long"})
	path, from := s.TablePath("people"), " FROM "+s.Schema+".people"
	base := "/v1/organisations/" + s.Boot.OrganisationID + "/policies"
	s.Policy("people", "", `{"effect":"permit","subject":{"role":"admin"},"condition":null}`)
	byTenant := s.Policy("people", "tenant", `{"effect":"permit","subject":{"attribute":"tenant","op":"eq"},"condition":null}`)
	nested := s.Policy("people", "",
		`{"effect":"forbid","subject":{"role":"viewer"},"condition":{"or":[{"column":"level","op":"eq","value":2},{"and":[{"column":"tenant","op":"eq","value":"b"},{"not":{"column":"Level","op":"eq","value":1}}]}]}}`)
	text := s.Admin.OK("POST", base, object{"kind": "rls", "tableFqn": "lake." + s.Schema + ".people",
		"policyText": `permit (principal, action, resource) when { resource has level && resource.level == 9 };`})
	hidden := s.Rule("cls", "people", "ssn", harness.AdminsSee)
	masked := s.Rule("mask", "people", "label", harness.AdminsSee)
	off := s.Policy("people", "level", `{"effect":"permit","subject":{"everyone":true},"condition":{"op":"gte","value":0}}`)
	s.Admin.OK("PATCH", base+"/"+off["id"].(string), object{"enabled": false, "expectedVersion": 1})
	before := s.Admin.Version(path)

	callers := []*harness.Client{
		s.Member("a@acme.example", "viewer", map[string]string{"tenant": "a"}),
		s.Member("b@acme.example", "builder", map[string]string{"tenant": "b"}),
		s.Member("none@acme.example", "viewer", nil), s.Admin,
	}
	var seen []list
	for _, c := range callers {
		seen = append(seen, c.Rows("SELECT *"+from+" ORDER BY id"))
	}
	require.Len(t, seen[0], 3)
	require.Len(t, seen[1], 4)
	require.Empty(t, seen[2])
	require.Len(t, seen[0][0], 4, "a column is hidden")

	for from, to := range map[string]string{"tenant": "org", "ssn": "social", "label": "shown", "level": "rank"} {
		s.Admin.OK("PATCH", path+"/columns/"+from, object{"name": to})
	}
	require.Equal(t, before+4, s.Admin.Version(path))
	s.Table("other", "SELECT 1 AS id", nil, column{"id", "long"})
	for i, c := range callers {
		require.Equal(t, seen[i], c.Rows("SELECT *"+from+" ORDER BY id"), c.User)
		at := c.Query("SELECT *" + from + " AT (VERSION => " + strconv.Itoa(int(before)) + ") ORDER BY id")
		require.Equal(t, 200, at.Status, "%s", at.Body)
		require.Equal(t, seen[i], at.JSON(t)["rows"], "what was seen then is seen now")
		require.NotContains(t, columnNames(c, path), "tenant")
	}
	require.Equal(t, []string{"id", "org", "shown", "rank"}, columnNames(callers[0], path))
	require.Equal(t, 400, callers[0].Query("SELECT social"+from).Status)

	// The policies are what they were, under the new names, each a version later.
	get := func(p map[string]any) map[string]any { return s.Admin.OK("GET", base+"/"+p["id"].(string), nil) }
	require.Equal(t, list{"org", 2.0}, list{get(byTenant)["columnName"], get(byTenant)["version"]})
	require.Equal(t, "social", get(hidden)["columnName"])
	require.Equal(t, "shown", get(masked)["columnName"])
	require.Equal(t, list{"rank", false, 3.0}, list{get(off)["columnName"], get(off)["enabled"], get(off)["version"]})
	require.Equal(t, 3.0, get(nested)["version"])
	require.NotContains(t, get(nested)["policyText"], "tenant")
	require.Contains(t, get(text)["policyText"], "rank")
	history := s.Admin.OK("GET", base+"/"+byTenant["id"].(string)+"/history", nil)
	require.Contains(t, string(s.Admin.Call("GET", base+"/"+byTenant["id"].(string)+"/history", nil).Body), s.Boot.UserID)
	require.NotEmpty(t, history)

	// What cannot follow keeps the name, and any policy the type.
	for _, refused := range []object{{"type": "double"}, {"type": "decimal(20,0)", "name": "x"}} {
		code, fields := s.Admin.Call("PATCH", path+"/columns/rank", refused).Problem(t, 409)
		require.Equal(t, "column_in_use policies", code+" "+fields[0])
	}
	s.Policy("", "org", `{"effect":"forbid","subject":{"everyone":true},"condition":{"op":"eq","value":"zzz"}}`)
	code, fields := s.Admin.Call("PATCH", path+"/columns/org", object{"name": "tenant"}).Problem(t, 409)
	require.Equal(t, "column_in_use policies", code+" "+fields[0])
	s.Admin.OK("POST", base, object{"kind": "rls", "tableFqn": "lake." + s.Schema + ".people",
		"policyText": `permit (principal, action, resource) when { (principal has tenant && principal.tenant == "a") || (resource has rank && ` +
			`resource.rank == 2) };`})
	code, fields = s.Admin.Call("PATCH", path+"/columns/rank", object{"name": "level"}).Problem(t, 409)
	require.Equal(t, "column_in_use policies", code+" "+fields[0])
	require.Len(t, fields, 1)
}

// columnNames are the columns of a table as the caller sees them.
func columnNames(c *harness.Client, path string) []string {
	return harness.ColumnsIn(c.OK("GET", path, nil))
}

// TestColumnsDoNotChangeWhileAPolicyLacksItsColumn checks that between a rename and the
// change of the policies a second rename, or a new column of the old name, is refused: it
// would give the policy another column.
func TestColumnsDoNotChangeWhileAPolicyLacksItsColumn(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	dir := s.Table("loans", `SELECT 1 AS id, 'secret' AS a, 'x' AS note`, nil, column{"id", "long"}, column{"a", "string"},
		column{"note", "string"})
	path := s.TablePath("loans")
	s.Policy("loans", "", `{"effect":"permit","subject":{"everyone":true},"condition":{"column":"a","op":"is_null"}}`)
	ben := s.Member("ben@acme.example", "builder", nil)
	require.Empty(t, ben.Rows("SELECT id FROM "+s.Schema+".loans"))

	harness.RenameElsewhere(t, dir, "a", "b")

	version := s.Admin.Version(path)
	for _, r := range []harness.Reply{
		ben.Call("PATCH", path+"/columns/b", object{"name": "c"}),
		ben.Call("PATCH", path+"/columns/note", object{"name": "more"}),
		ben.Call("POST", path+"/columns", object{"name": "a", "type": "string"}),
		ben.Call("POST", path+"/columns", object{"name": "b2", "type": "string"}),
		s.Admin.Call("POST", path+"/columns", object{"name": "more", "type": "string"}),
	} {
		code, fields := r.Problem(t, 409)
		require.Equal(t, "column_in_use", code)
		require.Equal(t, "policies", fields[0])
	}
	require.Equal(t, version, s.Admin.Version(path))
	require.Empty(t, ben.Rows("SELECT id FROM "+s.Schema+".loans"))
}

// TestPoliciesAreCorrectedAfterARename checks that an administrator restores what
// everybody sees when no policy followed a renamed column, and that nobody sees more in
// between.
func TestPoliciesAreCorrectedAfterARename(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, nil)
	dir := s.Table("people", `SELECT i AS id, ['a', 'b'][i % 2 + 1] AS tenant, 'SECRET-' || i AS ssn FROM range(8) t(i)`, nil,
		column{"id", "long"}, column{"tenant", "string"}, column{"ssn", "string"})
	const byTenant = `{"effect":"permit","subject":{"attribute":"tenant","op":"eq"},"condition":null}`
	rows, hidden := s.Policy("people", "tenant", byTenant), s.Rule("cls", "people", "ssn", harness.AdminsSee)
	reader := s.Member("a@acme.example", "viewer", map[string]string{"tenant": "a"})
	sql := "SELECT id FROM " + s.Schema + ".people ORDER BY id"
	seen := reader.Rows(sql)
	require.Len(t, seen, 4)

	correct := func(policy map[string]any, kind, column, definition string) {
		base := "/v1/organisations/" + s.Boot.OrganisationID + "/policies/"
		s.Admin.OK("PUT", base+policy["id"].(string), object{"kind": kind, "tableFqn": "lake." + s.Schema + ".people", "columnName": column,
			"definition": json.RawMessage(definition), "expectedVersion": policy["version"]})
	}
	harness.RenameElsewhere(t, dir, "tenant", "org")
	restart := func() {
		s.Restart()
		reader = s.Client(reader.Key, reader.User)
	}
	restart()
	require.Empty(t, reader.Rows(sql), "no row can be decided")
	correct(rows, "rls", "org", byTenant)
	require.Equal(t, seen, reader.Rows(sql))

	harness.RenameElsewhere(t, dir, "ssn", "social")
	restart()
	for _, c := range []*harness.Client{reader, s.Admin} {
		code, _ := c.Query(sql).Problem(t, 409)
		require.Equal(t, "policy_not_usable", code)
	}
	correct(hidden, "cls", "social", harness.AdminsSee)
	require.Equal(t, seen, reader.Rows(sql))
	require.Equal(t, []string{"id", "org"}, columnNames(reader, s.TablePath("people")))
}
