package domain_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// A builder sees the rows of region a, and neither the secret nor the clear mark.
func TestFilteredCallersLearnNothingOfHiddenValues(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	s.Table("t", `SELECT * FROM (VALUES (1, 'a', 'x', 's1', 'm1'), (2, 'b', 'y', 's2', 'm2'), (3, 'b', 'z', 's2', 'm2'))
		t(id, region, state, secret, mark)`, nil, column{"id", "long"}, column{"region", "string"}, column{"state", "string"},
		column{"secret", "string"}, column{"mark", "string"})
	s.Table("source", `SELECT * FROM (VALUES ('a', 'x'), ('b', 'y')) t(region, state)`, nil,
		column{"region", "string"}, column{"state", "string"})
	path, fqn := s.TablePath("t"), "lake."+s.Schema+".source"
	for column, values := range map[string]list{"secret": {"s1", "s2"}, "mark": {"m1", "m2"}, "state": {"x", "y", "z", "w"}} {
		s.Admin.OK("PUT", path+"/columns/"+column+"/domain/fixed", object{"values": values})
	}
	s.Admin.OK("PUT", path+"/columns/region/domain/reference", object{"table_path": fqn, "column": "region"})
	one := `{"effect":"permit","subject":{"attribute":"region","op":"eq"},"condition":null}`
	s.Policy("t", "region", one)
	s.Policy("source", "region", one)
	s.Rule("cls", "t", "secret", harness.AdminsSee)
	s.Rule("mask", "t", "mark", harness.AdminsSee)
	b := s.Member("b@acme.example", "builder", map[string]string{"region": "a"})

	for _, ask := range [][2]string{{"GET", "/domain"}, {"GET", "/allowed-values"}, {"GET", "/domain/in-use?value=s1"},
		{"DELETE", "/domain"}} {
		hidden := b.Call(ask[0], path+"/columns/secret"+ask[1], nil, "X-Request-Id", "same")
		missing := b.Call(ask[0], path+"/columns/nosuch"+ask[1], nil, "X-Request-Id", "same")
		require.Equal(t, 404, hidden.Status)
		require.Equal(t, string(missing.Body), string(hidden.Body), "a hidden column looks like a missing one")
	}
	require.Nil(t, b.OK("GET", path+"/columns/mark/domain", nil)["domain"].(object)["allowed_values"])
	require.Empty(t, b.OK("GET", path+"/columns/mark/allowed-values", nil)["allowed_values"])
	refused(t, b, 403, "forbidden", "GET", path+"/columns/mark/domain/in-use?value=m2", nil)
	refused(t, b, 403, "table_partly_visible", "PUT", path+"/columns/mark/domain/fixed", object{"values": list{"m1"}})
	refused(t, b, 422, "invalid_field", "POST", path+"/columns/mark/domain/values", object{"value": "m1"})

	at := path + "/columns/state/domain"
	require.Equal(t, object{"column_name": "state", "value": "y", "in_use": false, "row_count": 0.0, "complete": false},
		b.OK("GET", at+"/in-use?value=y", nil))
	values := ids(b.OK("GET", at, nil)["domain"].(object)["allowed_values"])
	for _, value := range []string{"w", "x", "y"} { // in no row, in a visible one, in a hidden one
		refused(t, b, 403, "table_partly_visible", "DELETE", at+"/values/"+values[value], nil)
		refused(t, b, 403, "table_partly_visible", "PATCH", at+"/values/"+values[value], object{"value": "v"})
	}
	b.OK("PATCH", at+"/values/"+values["y"], object{"label": "Y"})
	b.OK("POST", at+"/values", object{"value": "v"})
	refused(t, b, 403, "table_partly_visible", "PUT", at+"/fixed", object{"values": list{"y", "z"}})
	refused(t, b, 403, "table_partly_visible", "PUT", at+"/fixed?enforce_existing=true", object{"values": list{"x"}})

	refused(t, b, 403, "table_partly_visible", "PUT", at+"/reference", object{"table_path": fqn, "column": "state"})
	refused(t, b, 403, "table_partly_visible", "PUT", at+"/hierarchical/table", object{"table_path": fqn, "parent_column": "region",
		"parent_key": "region", "child_key": "state"})
	require.Equal(t, []string{"a"}, texts(b.OK("GET", path+"/columns/region/allowed-values", nil)["allowed_values"]))
}

func TestSourcesAreVisibleToEverybodyWhoSeesTheColumn(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	path := s.Create("t", nil, harness.Col("id", "long"))
	own := s.Config.LocalRoots[0] + "/own"
	config := s.Admin.OK("POST", harness.ConfigsPath, object{"configName": "own", "kind": "local", "root": own})
	harness.WriteTable(t, own+"/private", `SELECT 1 AS id`, nil, column{"id", "long"})
	s.Admin.OK("POST", harness.ConfigsPath+"/"+config["configId"].(string)+"/discover", nil)
	fqn := "lake." + config["schema"].(string) + ".private"
	require.Equal(t, []string{"table_path"}, refused(t, s.Admin, 422, "reference_not_shared", "PUT", path+"/columns/id/domain/reference",
		object{"table_path": fqn, "column": "id"}))
}
