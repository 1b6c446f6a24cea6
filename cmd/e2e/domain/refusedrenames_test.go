package domain_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

func TestARefusedRenameLeavesTheRowsOfItsNewTextAlone(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	path := s.Create("t", nil, harness.Col("id", "long"), harness.Col("code", "string"))
	s.Admin.OK("POST", path+"/constraints", object{"constraints": list{
		object{"name": "c", "expr": "id <> 1 OR code <> 'B'"}}})
	s.Admin.Write(path+"/rows", harness.RowsOf(object{"id": 1, "code": "A"}, object{"id": 2, "code": "B"}))
	at := path + "/columns/code/domain"
	values := ids(s.Admin.OK("PUT", at+"/fixed", object{"values": list{"A"}})["domain"].(object)["allowed_values"])
	require.Equal(t, []string{"value"}, refused(t, s.Admin, 409, "value_in_use", "PATCH", at+"/values/"+values["A"],
		object{"value": "B", "label": "Bee"}))
	require.NotContains(t, string(s.Admin.Call("GET", at, nil).Body), "Bee", "the label is part of the refused change")
	require.Equal(t, list{list{1.0, "A"}, list{2.0, "B"}}, s.Admin.Rows("SELECT id, code FROM "+s.Schema+".t ORDER BY id"))
	s.Admin.OK("POST", at+"/values", object{"value": "C"})
}

func TestARenameToTextOfTheSameKeyDoesNotBlockTheDomain(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	path := s.Create("t", nil, harness.Col("id", "long", "isPrimaryKey", true), harness.Col("code", "string", "isPrimaryKey", true))
	s.Admin.Write(path+"/rows", harness.RowsOf(object{"id": 1, "code": "A"}, object{"id": 1, "code": "B"}))
	at := path + "/columns/code/domain"
	values := ids(s.Admin.OK("PUT", at+"/fixed", object{"values": list{"A"}})["domain"].(object)["allowed_values"])
	require.Equal(t, []string{"value"}, refused(t, s.Admin, 409, "value_in_use", "PATCH", at+"/values/"+values["A"],
		object{"value": "B", "label": "Bee"}))
	require.NotContains(t, string(s.Admin.Call("GET", at, nil).Body), "Bee", "the label is part of the refused change")
	s.Admin.OK("POST", at+"/values", object{"value": "C"})
}

func TestARefusedRenameOfAParentLeavesRowsWithoutAChildAlone(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	path := s.Create("t", nil, harness.Col("id", "long"), harness.Col("p", "string"), harness.Col("c", "string"))
	s.Admin.OK("POST", path+"/constraints", object{"constraints": list{
		object{"name": "c", "expr": "id <> 1 OR p <> 'B'"}}})
	s.Admin.Write(path+"/rows", harness.RowsOf(object{"id": 1, "p": "A", "c": "x"}, object{"id": 2, "p": "B"}))
	at := path + "/columns/c/domain"
	values := ids(s.Admin.OK("PUT", at+"/hierarchical/inline", object{"parent_column": "p", "parents": list{
		object{"value": "A", "children": list{"x"}}}})["domain"].(object)["allowed_values"])
	refused(t, s.Admin, 422, "rule_violation", "PATCH", at+"/values/"+values["A"], object{"value": "B"})
	require.Equal(t, list{list{1.0, "A"}, list{2.0, "B"}}, s.Admin.Rows("SELECT id, p FROM "+s.Schema+".t ORDER BY id"))
}

// TestARefusedRenameDoesNotTellOfHiddenColumns renames a value as an administrator who sees a
// part of the table, and may change all of it because it may change policies. A rule of a hidden
// column refuses the new value.
func TestARefusedRenameDoesNotTellOfHiddenColumns(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	s.Table("t", `SELECT * FROM (VALUES ('a', 'x', 'k1'), ('b', 'x', 'k1'), ('b', 'x', 'k1')) t(region, state, secretcol)`, nil,
		column{"region", "string"}, column{"state", "string"}, column{"secretcol", "string"})
	path := s.TablePath("t")
	s.Admin.OK("POST", path+"/constraints", object{"constraints": list{
		object{"name": "hush", "expr": "secretcol <> 'k1' OR state <> 'z'"}}})
	got := s.Admin.OK("PUT", path+"/columns/state/domain/fixed", object{"values": list{"x"}})
	values := ids(got["domain"].(object)["allowed_values"])
	s.Admin.OK("PUT", path+"/columns/secretcol/domain/hierarchical/inline", object{"parent_column": "state", "parents": list{
		object{"value": "x", "children": list{"k1"}}}})
	at := path + "/columns/state/domain/values/" + values["x"]
	for _, to := range []string{"z", "w"} { // the CHECK and the domain of secretcol refuse them
		require.NotEmpty(t, refused(t, s.Admin, 422, "rule_violation", "PATCH", at, object{"value": to}), "who sees all is told the rule")
	}
	s.Policy("t", "region", `{"effect":"permit","subject":{"attribute":"region","op":"eq"},"condition":null}`)
	s.Rule("cls", "t", "secretcol", `{"effect":"permit","subject":{"attribute":"clearance","op":"eq","value":"top"}}`)
	builder := s.Member("b@acme.example", "builder", map[string]string{"region": "a"})
	boss := s.Member("boss@acme.example", "admin", map[string]string{"region": "a"})
	require.Equal(t, list{list{"a", "x"}}, boss.Rows("SELECT * FROM "+s.Schema+".t"))
	for _, to := range []string{"z", "w"} {
		require.Equal(t, []string{"table"}, refused(t, builder, 403, "table_partly_visible", "PATCH", at, object{"value": to}))
		r := boss.Call("PATCH", at, object{"value": to})
		code, fields := r.Problem(t, 422)
		require.Equal(t, "rule_violation", code)
		require.Empty(t, fields, "%s", r.Body)
		require.Equal(t, "A row breaks a rule of the table.", r.JSON(t)["message"])
	}
}

func TestAVanishedTableDoesNotBlockASharedDomain(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	base := "/v1/organisations/" + s.Boot.OrganisationID + "/domains"
	dir := s.Table("t", `SELECT 'a' AS s`, nil, column{"s", "string"})
	u := s.Create("u", nil, harness.Col("s", "string"))
	created := s.Admin.Call("POST", base, object{"name": "d", "type": "fixed", "values": list{"a", "b"}}).JSON(t)
	at := base + "/" + created["id"].(string)
	values := ids(created["allowed_values"])
	s.Admin.OK("PUT", s.TablePath("t")+"/columns/s/domain/shared", object{"domain_id": created["id"]})
	s.Admin.OK("PUT", u+"/columns/s/domain/shared", object{"domain_id": created["id"]})
	require.NoError(t, os.RemoveAll(dir))
	s.Vanish(1)
	s.Admin.OK("POST", at+"/values", object{"value": "c"})
	s.Admin.OK("PATCH", at+"/values/"+values["a"], object{"value": "x"})
	s.Admin.OK("DELETE", at+"/values/"+values["b"], nil)
}
