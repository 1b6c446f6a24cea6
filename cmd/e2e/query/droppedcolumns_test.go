package query_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// TestDroppedColumnStaysHiddenInHistoricalVersions checks that a policy of every table
// that hides or masks a column applies to historical versions that have the column,
// whatever its name was then.
func TestDroppedColumnStaysHiddenInHistoricalVersions(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	for _, kind := range []string{"cls", "mask"} {
		s.Table(kind, `SELECT i AS id, 'SECRET-' || i AS tax FROM range(3) t(i)`, nil, column{"id", "long"}, column{"tax", "string"})
		path, from, name := s.TablePath(kind), s.Schema+"."+kind, "number_"+kind
		first := s.Admin.Version(path)
		s.Admin.OK("PATCH", path+"/columns/tax", object{"name": name})
		definition := harness.ViewersNot
		if kind == "mask" {
			definition = `{"effect":"forbid","subject":{"role":"viewer"},"mask":"last4"}`
		}
		own := s.Rule(kind, kind, name, definition)
		code, fields := s.Admin.Call("DELETE", path+"/columns/"+name, nil).Problem(t, 409)
		require.Equal(t, "column_in_use", code)
		require.Equal(t, []string{"policies"}, fields, "one of the table would close it")
		s.Rule(kind, "", name, definition)
		require.Less(t, s.Admin.Call("DELETE", "/v1/organisations/"+s.Boot.OrganisationID+"/policies/"+own["id"].(string)+"?expectedVersion=1",
			nil).Status, 300)
		code, _ = s.Admin.Call("PATCH", path+"/columns/"+name, object{"name": "free"}).Problem(t, 409)
		require.Equal(t, "column_in_use", code, "under another name it would be there")
		last := s.Admin.Version(path)
		require.Equal(t, []string{"id"}, harness.ColumnsIn(s.Admin.OK("DELETE", path+"/columns/"+name, nil)))

		viewer := s.Member(kind+"@acme.example", "viewer", nil)
		kept := func() {
			t.Helper()
			for version := first; version <= last; version++ {
				at := fmt.Sprintf("SELECT * FROM %s AT (VERSION => %.0f)", from, version)
				seen := viewer.Query(at)
				require.Equal(t, 200, seen.Status, "%s", seen.Body)
				require.NotContains(t, string(seen.Body), "SECRET")
				require.Contains(t, string(s.Admin.Query(at).Body), "SECRET")
			}
			for _, c := range []*harness.Client{viewer, s.Admin} {
				require.NotContains(t, string(c.Call("GET", path, nil).Body), name)
			}
		}
		kept()
		s.Admin.OK("POST", path+"/columns", object{"name": "more", "type": "string"})
		kept()

		// From before there was a column of that name, and back again.
		s.Admin.OK("POST", path+"/restore", object{"version": last + 1})
		kept()
		require.Equal(t, []string{"id", name}, harness.ColumnsIn(s.Admin.OK("POST", path+"/restore", object{"version": last})))
		require.NotContains(t, string(viewer.Query("SELECT * FROM "+from).Body), "SECRET")
		require.Contains(t, string(s.Admin.Query("SELECT * FROM "+from).Body), "SECRET")
		s.Admin.OK("DELETE", path+"/columns/"+name, nil)
		kept()
	}
}

// TestColumnOfARowPolicyIsNotDropped checks that a column that decides rows cannot be
// dropped, whoever the policy is for.
func TestColumnOfARowPolicyIsNotDropped(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	path := s.Regional("t")
	s.Policy("", "tenant", `{"effect":"permit","subject":{"everyone":true},"condition":{"op":"eq","value":"a"}}`)
	s.Policy("t", "", `{"effect":"permit","subject":{"role":"admin"},"condition":null}`)
	code, _ := s.Admin.Call("DELETE", path+"/columns/tenant", nil).Problem(t, 409)
	require.Equal(t, "column_in_use", code)
}
