package domain_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// shared creates a shared domain and returns its id.
func shared(t *testing.T, s *harness.Server, content object) string {
	t.Helper()
	r := s.Admin.Call("POST", "/v1/organisations/"+s.Boot.OrganisationID+"/domains", content)
	require.Equal(t, 201, r.Status, "%s", r.Body)
	return r.JSON(t)["id"].(string)
}

// Tables that are gone keep neither a shared domain nor the source of a domain.
func TestGoneTablesKeepNothingFromBeingDeleted(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	domains := "/v1/organisations/" + s.Boot.OrganisationID + "/domains/"
	states := shared(t, s, object{"name": "States", "type": "fixed", "values": list{"open"}})
	source := s.Create("source", nil, harness.Col("key", "string"))
	s.Admin.Write(source+"/rows", harness.RowsOf(object{"key": "a"}))
	names := []string{"purged", "dropped", "vanished"}
	for _, name := range names {
		path := s.Create(name, nil, harness.Col("state", "string"), harness.Col("key", "string"), harness.Col("own", "string"))
		s.Admin.OK("PUT", path+"/columns/state/domain/shared", object{"domain_id": states})
		s.Admin.OK("PUT", path+"/columns/key/domain/reference", object{"table_path": "lake." + s.Schema + ".source", "column": "key"})
		s.Admin.OK("PUT", path+"/columns/own/domain/fixed", object{"values": list{"x"}})
		s.Admin.Write(path+"/rows", harness.RowsOf(object{"state": "open", "key": "a", "own": "x"}))
		refused(t, s.Admin, 409, "domain_in_use", "DELETE", domains+states, nil)
		refused(t, s.Admin, 409, "table_in_use", "DELETE", source, nil)
	}
	refused(t, s.Admin, 409, "column_in_use", "DELETE", source+"/columns/key", nil)

	s.Admin.OK("DELETE", s.TablePath("purged")+"?purge=true", nil)
	s.Admin.OK("DELETE", s.TablePath("dropped"), nil)
	away := filepath.Join(t.TempDir(), "vanished")
	here := filepath.Join(s.Root, "vanished")
	require.NoError(t, os.Rename(here, away))
	s.Vanish(1)

	got := s.Admin.OK("GET", domains+states, nil)
	require.Equal(t, list{}, got["dependants"])
	require.Equal(t, 0.0, got["other_dependants"])
	s.Admin.OK("DELETE", domains+states, nil)
	s.Admin.OK("DELETE", source+"?purge=true", nil)

	// The tables that return have their own domains, and no values for the others.
	require.NoError(t, os.Rename(away, here))
	config := s.Admin.OK("GET", harness.ConfigsPath, nil)["configs"].(list)[0].(object)["configId"].(string)
	s.Admin.OK("POST", harness.ConfigsPath+"/"+config+"/discover", object{"includeDropped": true})
	for _, name := range names[1:] {
		path := s.TablePath(name)
		refused(t, s.Admin, 422, "rule_violation", "POST", path+"/rows", harness.RowsOf(object{"own": "y"}))
		s.Admin.Write(path+"/rows", harness.RowsOf(object{"own": "x"}))
		require.Equal(t, []string{"state"}, refused(t, s.Admin, 409, "domain_deleted", "POST", path+"/rows", harness.RowsOf(object{"state": "open"})))
		refused(t, s.Admin, 409, "domain_deleted", "POST", path+"/rows/update", object{"where": "true", "set": object{"state": "'open'"}})
		require.Equal(t, []string{"key"}, refused(t, s.Admin, 409, "table_vanished", "POST", path+"/rows", harness.RowsOf(object{"key": "a"})))
		for _, below := range []string{"/domain", "/allowed-values", "/domain/in-use?value=open"} {
			refused(t, s.Admin, 409, "domain_deleted", "GET", path+"/columns/state"+below, nil)
		}
		refused(t, s.Admin, 409, "domain_deleted", "POST", path+"/columns/state/domain/values", object{"value": "x"})
		for _, rule := range s.Admin.OK("GET", path+"/violations", nil)["rules"].(list) {
			if rule := rule.(object); rule["kind"] == "domain" {
				require.Equal(t, rule["name"] == "own", rule["holds"], "%v", rule)
			}
		}
		s.Admin.OK("PATCH", path+"/columns/own", object{"name": "mine"})
	}

	// Writes are possible again when the domain is set or removed. A domain that is refused
	// changes nothing.
	path := s.TablePath("dropped")
	refused(t, s.Admin, 409, "outside_values", "PUT", path+"/columns/state/domain/fixed?enforce_existing=true", object{"values": list{"new"}})
	refused(t, s.Admin, 409, "domain_deleted", "POST", path+"/rows", harness.RowsOf(object{"state": "new"}))
	s.Admin.OK("PUT", path+"/columns/state/domain/fixed", object{"values": list{"new"}})
	s.Admin.OK("DELETE", path+"/columns/key/domain", nil)
	s.Admin.Write(path+"/rows", harness.RowsOf(object{"state": "new", "key": "any"}))
	refused(t, s.Admin, 422, "rule_violation", "POST", path+"/rows", harness.RowsOf(object{"state": "open"}))
	path = s.TablePath("vanished")
	s.Admin.OK("DELETE", path+"/columns/state/domain", nil)
	s.Admin.OK("PUT", path+"/columns/key/domain/fixed", object{"values": list{"b"}})
	s.Admin.Write(path+"/rows", harness.RowsOf(object{"state": "any", "key": "b"}))
}
