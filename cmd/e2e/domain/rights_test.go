package domain_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// A new text and a replacement change rows, so they need rows:update too.
func TestChangesOfRowsNeedTheRightToThem(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	path := s.Create("t", nil, harness.Col("s", "string"))
	at := path + "/columns/s/domain"
	values := ids(s.Admin.OK("PUT", at+"/fixed", object{"values": list{"a", "b", "c"}})["domain"].(object)["allowed_values"])
	s.Admin.Write(path+"/rows", harness.RowsOf(object{"s": "a"}))
	key, _ := s.Admin.NewKey(object{"scopes": list{"domains:write", "domains:read"}})
	r := key.Call("PATCH", at+"/values/"+values["a"], object{"value": "x"})
	code, fields := r.Problem(t, 403)
	require.Equal(t, []any{"insufficient_scope", []string{"scope"}}, []any{code, fields})
	refused(t, key, 403, "insufficient_scope", "DELETE", at+"/values/"+values["a"]+"?replace_with=b", nil)
	key.OK("PATCH", at+"/values/"+values["a"], object{"label": "first"})
	key.OK("DELETE", at+"/values/"+values["c"], nil)
	require.Equal(t, list{list{"a"}}, s.Admin.Rows("SELECT s FROM "+s.Schema+".t"))
}

// Columns of tables that the caller does not see are counted, and their rows are not changed.
func TestSharedDomainsAreUsedWhereTheirManagerSeesNothing(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	base := "/v1/organisations/" + s.Boot.OrganisationID + "/domains"
	created := s.Admin.Call("POST", base, object{"name": "d", "type": "fixed", "values": list{"a", "b"}})
	require.Equal(t, 201, created.Status, "%s", created.Body)
	at := base + "/" + created.JSON(t)["id"].(string)
	values := ids(created.JSON(t)["allowed_values"])

	own := s.Config.LocalRoots[0] + "/own"
	config := s.Admin.OK("POST", harness.ConfigsPath, object{"configName": "own", "kind": "local", "root": own})
	schema := config["schema"].(string)
	made := s.Admin.Call("POST", "/v1/tables", s.NewTable(schema, "private", nil, harness.Col("s", "string")))
	require.Equal(t, 201, made.Status, "%s", made.Body)
	path := "/v1/tables/lake/" + schema + "/private"
	s.Admin.OK("PUT", path+"/columns/s/domain/shared", object{"domain_id": created.JSON(t)["id"]})
	s.Admin.Write(path+"/rows", harness.RowsOf(object{"s": "a"}))

	builder := s.Member("builder@acme.example", "builder", nil)
	seen := builder.OK("GET", at, nil)
	require.Equal(t, []any{list{}, 1.0}, []any{seen["dependants"], seen["other_dependants"]})
	all := s.Admin.OK("GET", at, nil)
	require.Equal(t, []any{1, 0.0}, []any{len(all["dependants"].(list)), all["other_dependants"]})
	refused(t, builder, 403, "forbidden", "PATCH", at+"/values/"+values["a"], object{"value": "x"})
	refused(t, builder, 403, "forbidden", "DELETE", at+"/values/"+values["a"]+"?replace_with=b", nil)
	refused(t, builder, 403, "forbidden", "PUT", at, object{"name": "d", "type": "fixed", "values": list{},
		"expected_version": seen["version"]})
	for _, value := range []string{"a", "b"} { // with a row that the builder does not see, and with none
		refused(t, builder, 403, "forbidden", "DELETE", at+"/values/"+values[value], nil)
	}
	refused(t, builder, 409, "domain_in_use", "DELETE", at, nil)
	require.Equal(t, list{list{"a"}}, s.Admin.Rows("SELECT s FROM "+schema+".private"))
	refused(t, s.Member("viewer@acme.example", "viewer", nil), 403, "insufficient_scope", "POST", base, object{"name": "e", "type": "fixed"})
}
