package domain_test

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

func TestSharedDomainsHoldInEveryColumnThatUsesThem(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	base := "/v1/organisations/" + s.Boot.OrganisationID + "/domains"
	one := s.Create("one", nil, harness.Col("id", "long"), harness.Col("state", "string"), harness.Col("n", "integer"))
	two := s.Create("two", nil, harness.Col("id", "long"), harness.Col("status", "string"))

	r := s.Admin.Call("POST", base, object{"name": "States", "description": "of work", "type": "fixed", "values": list{"open", "closed"}})
	require.Equal(t, 201, r.Status, "%s", r.Body)
	made := r.JSON(t)
	at := base + "/" + made["id"].(string)
	require.Equal(t, list{}, made["dependants"])
	require.Equal(t, 0.0, made["other_dependants"])
	refused(t, s.Admin, 409, "already_exists", "POST", base, object{"name": "states", "type": "fixed", "values": list{}})
	require.Len(t, s.Admin.OK("GET", base, nil)["domains"], 1)

	got := s.Admin.OK("PUT", one+"/columns/state/domain/shared", object{"domain_id": made["id"]})
	require.Equal(t, object{"id": made["id"], "name": "States"}, got["domain"].(object)["shared"])
	s.Admin.OK("PUT", two+"/columns/status/domain/shared", object{"domain_id": made["id"]})
	require.Equal(t, []string{"domain_id"}, refused(t, s.Admin, 422, "invalid_field", "PUT", one+"/columns/n/domain/shared",
		object{"domain_id": made["id"]}))
	require.Equal(t, []string{"domain_id"}, refused(t, s.Admin, 422, "invalid_field", "PUT", one+"/columns/n/domain/shared",
		object{"domain_id": harness.MissingID}))
	refused(t, s.Admin, 409, "domain_shared", "POST", one+"/columns/state/domain/values", object{"value": "x"})
	refused(t, s.Admin, 409, "domain_in_use", "DELETE", at, nil)
	require.Len(t, s.Admin.OK("GET", at, nil)["dependants"], 2)

	s.Admin.Write(one+"/rows", harness.RowsOf(object{"id": 1, "state": "open"}))
	s.Admin.Write(two+"/rows", harness.RowsOf(object{"id": 1, "status": "open"}))
	refused(t, s.Admin, 422, "rule_violation", "POST", two+"/rows", harness.RowsOf(object{"id": 1, "status": "x"}))

	s.Admin.OK("POST", at+"/values", object{"value": "new"})
	values := ids(s.Admin.OK("GET", at, nil)["allowed_values"])
	s.Admin.OK("PATCH", at+"/values/"+values["open"], object{"value": "Open"})
	for name, column := range map[string]string{"one": "state", "two": "status"} {
		require.Equal(t, list{list{"Open"}}, s.Admin.Rows("SELECT "+column+" FROM "+s.Schema+"."+name))
	}
	refused(t, s.Admin, 409, "value_in_use", "DELETE", at+"/values/"+values["open"], nil)
	s.Admin.OK("DELETE", at+"/values/"+values["new"], nil)
	got = s.Admin.OK("PUT", at, object{"name": "States", "type": "fixed", "values": list{"Open", "later"},
		"expected_version": s.Admin.OK("GET", at, nil)["version"]})
	require.Equal(t, values["open"], ids(got["allowed_values"])["Open"])
	got = s.Admin.OK("PUT", at, object{"name": "States", "type": "fixed", "values": list{"later"}, "expected_version": got["version"]})
	for _, d := range got["dependants"].(list) {
		require.Equal(t, object{"row_count": 1.0, "values": list{"Open"}}, d.(object)["outside"])
	}
	require.NotContains(t, s.Admin.OK("GET", at, nil)["dependants"].(list)[0], "outside")
	s.Admin.Write(two+"/rows/delete", object{"where": "id = 1"})
	got = s.Admin.OK("PUT", at, object{"name": "States", "type": "fixed", "values": list{"Open"}, "expected_version": got["version"]})
	for _, d := range got["dependants"].(list) {
		if d.(object)["table_name"] == "one" {
			require.Equal(t, object{"row_count": 0.0, "values": list{}}, d.(object)["outside"])
		} else {
			require.NotContains(t, d, "outside", "a table without rows")
		}
	}
	refused(t, s.Admin, 409, "version_conflict", "PUT", at, object{"name": "States", "type": "fixed", "values": list{}, "expected_version": 1})
	refused(t, s.Admin, 409, "domain_type_mismatch", "PUT", at, object{"name": "States", "type": "range", "range": object{"min": "1"},
		"expected_version": got["version"]})

	s.Admin.OK("DELETE", one+"/columns/state/domain", nil)
	s.Admin.OK("DELETE", two+"/columns/status/domain", nil)
	s.Admin.OK("DELETE", at, nil)
	refused(t, s.Admin, 404, "not_found", "GET", at, nil)
}

// A domain is replaced after the writes that were checked before have ended, and is as it was
// if they do not end.
func TestAReplacedSharedDomainWaitsForWrites(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	base := "/v1/organisations/" + s.Boot.OrganisationID + "/domains"
	made := s.Admin.Call("POST", base, object{"name": "d", "type": "fixed", "values": list{"a", "b"}}).JSON(t)
	path, at := s.Create("t", nil, harness.Col("s", "string")), base+"/"+made["id"].(string)
	s.Admin.OK("PUT", path+"/columns/s/domain/shared", object{"domain_id": made["id"]})

	store, err := s.OpenCatalog(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	system, org := authz.System(t.Context(), "test"), catalog.OrgID(s.Boot.OrganisationID)
	table := catalog.DeltaID(s.Admin.OK("GET", path, nil)["tableId"].(string))
	commit := func() catalog.WriteLeaseID {
		domains, err := store.TableDomains(system, org, table)
		require.NoError(t, err)
		lease, err := store.BeginWrite(system, catalog.NewWrite{Org: org, Table: table, Kind: catalog.WriteRows})
		require.NoError(t, err)
		require.NoError(t, store.PublishWrite(system, lease, domains.Version))
		return lease
	}
	replace := func(version any, values ...any) harness.Reply {
		return s.Admin.Call("PUT", at, object{"name": "d", "type": "fixed", "values": values, "expected_version": version})
	}

	lease := commit()
	replies := make(chan harness.Reply, 1)
	go func() { replies <- replace(made["version"], "a") }()
	select {
	case r := <-replies:
		require.Fail(t, "not waited", "%s", r.Body)
	case <-time.After(500 * time.Millisecond):
	}
	require.NoError(t, store.EndWrite(system, lease))
	require.Equal(t, 200, (<-replies).Status)

	if os.Getenv("LAKEWARDEN_TEST_REPRESENTATIVE") != "" {
		return // the next one waits for half a minute
	}
	commit()
	before := s.Admin.OK("GET", at, nil)
	r := replace(before["version"], "b")
	code, _ := r.Problem(t, 409)
	require.Equal(t, "writes_in_progress", code)
	after := s.Admin.OK("GET", at, nil)
	require.Equal(t, before["allowed_values"], after["allowed_values"], "values and ids are those from before")
	s.Admin.Write(path+"/rows", harness.RowsOf(object{"s": "a"}))
}

func TestSharedDomainsOfTheOtherKinds(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	base := "/v1/organisations/" + s.Boot.OrganisationID + "/domains"
	path := s.Create("t", nil, harness.Col("n", "integer"), harness.Col("maker", "string"), harness.Col("model", "string"))
	s.Table("models", `SELECT * FROM (VALUES ('a', 'a1'), ('b', 'b1')) t(maker, model)`, nil,
		column{"maker", "string"}, column{"model", "string"})
	fqn := "lake." + s.Schema + ".models"
	create := func(body object) string {
		r := s.Admin.Call("POST", base, body)
		require.Equal(t, 201, r.Status, "%s", r.Body)
		return r.JSON(t)["id"].(string)
	}
	use := func(column, id, parent string) object {
		body := object{"domain_id": id}
		if parent != "" {
			body["parent_column"] = parent
		}
		return s.Admin.OK("PUT", path+"/columns/"+column+"/domain/shared", body)["domain"].(object)
	}
	require.Equal(t, "range", use("n", create(object{"name": "r", "type": "range", "range": object{"min": "1", "max": "5"}}), "")["type"])
	require.Equal(t, fqn, use("maker", create(object{"name": "m", "type": "reference",
		"reference_source": object{"table_path": fqn, "column": "maker"}}), "")["reference_source"].(object)["table_path"])
	require.Equal(t, "table", use("model", create(object{"name": "l", "type": "hierarchical",
		"lookup": object{"table_path": fqn, "parent_key": "maker", "child_key": "model"}}), "maker")["lookup"].(object)["source"])
	s.Admin.Write(path+"/rows", harness.RowsOf(object{"n": 3, "maker": "a", "model": "a1"}))
	for _, row := range []object{{"n": 6}, {"maker": "x"}, {"maker": "b", "model": "a1"}} {
		refused(t, s.Admin, 422, "rule_violation", "POST", path+"/rows", harness.RowsOf(row))
	}

	inline := create(object{"name": "i", "type": "hierarchical", "parents": list{object{"value": "a", "children": list{"a1"}}}})
	got := s.Admin.OK("POST", base+"/"+inline+"/parents", object{"value": "b"})
	parents := ids(got["allowed_values"])
	got = s.Admin.OK("POST", base+"/"+inline+"/parents/"+parents["b"]+"/children", object{"value": "b1"})
	children := ids(got["lookup"].(object)["mappings"].(object)["b"])
	use("model", inline, "maker")
	s.Admin.Write(path+"/rows", harness.RowsOf(object{"maker": "b", "model": "b1"}))
	refused(t, s.Admin, 409, "value_in_use", "DELETE", base+"/"+inline+"/parents/"+parents["b"], nil)
	refused(t, s.Admin, 409, "value_in_use", "DELETE", base+"/"+inline+"/parents/"+parents["b"]+"/children/"+children["b1"], nil)
	for field, body := range map[string]object{
		"range": {"name": "x", "type": "range"}, "values": {"name": "x", "type": "range", "values": list{}},
		"reference_source": {"name": "x", "type": "reference"}, "values[1]": {"name": "x", "type": "fixed", "values": list{"a", "a"}},
	} {
		require.Equal(t, []string{field}, refused(t, s.Admin, 422, "invalid_field", "POST", base, body))
	}
}
