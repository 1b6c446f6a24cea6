package query_test

import (
	"fmt"
	"strings"
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

		// Under its earlier name, the column would be there for everybody.
		code, fields = s.Admin.Call("POST", path+"/restore", object{"version": first}).Problem(t, 409)
		require.Equal(t, "column_in_use policies", code+" "+strings.Join(fields, " "))
		kept()
	}
}

// TestColumnThatARestoreDroppedStaysHidden checks that a policy of every table about a column's
// last name applies to its earlier names, too, if the column ended with a restore.
func TestColumnThatARestoreDroppedStaysHidden(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	s.Table("ended", `SELECT i AS id FROM range(3) t(i)`, nil, column{"id", "long"})
	path, from := s.TablePath("ended"), s.Schema+".ended"
	before := s.Admin.Version(path)
	s.Admin.OK("POST", path+"/columns", object{"name": "tax", "type": "string"})
	s.Admin.Write(path+"/rows", harness.RowsOf(object{"id": 9, "tax": "SECRET"}))
	written := s.Admin.Version(path)
	s.Admin.OK("PATCH", path+"/columns/tax", object{"name": "last_of_ended"})
	s.Admin.OK("POST", path+"/restore", object{"version": before})
	s.Rule("cls", "", "last_of_ended", harness.ViewersNot)
	viewer := s.Member("ended@acme.example", "viewer", nil)
	for version := written; version <= written+1; version++ {
		at := fmt.Sprintf("SELECT * FROM %s AT (VERSION => %.0f)", from, version)
		seen := viewer.Query(at)
		require.Equal(t, 200, seen.Status, "%s", seen.Body)
		require.NotContains(t, string(seen.Body), "SECRET", "version %v", version)
		require.Contains(t, string(s.Admin.Query(at).Body), "SECRET")
	}
	code, _ := s.Admin.Call("POST", path+"/restore", object{"version": written}).Problem(t, 409)
	require.Equal(t, "column_in_use", code)
}

// TestRowPolicyOfADroppedColumnPreventsItsReturn checks that a column does not come back under
// another name than that by which a row policy of every table names it.
func TestRowPolicyOfADroppedColumnPreventsItsReturn(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	path := s.Regional("decided")
	first := s.Admin.Version(path)
	s.Admin.OK("PATCH", path+"/columns/tenant", object{"name": "last_of_decided"})
	s.Admin.OK("DELETE", path+"/columns/last_of_decided", nil)
	s.Policy("", "last_of_decided", `{"effect":"forbid","subject":{"role":"viewer"},"condition":{"op":"eq","value":"a"}}`)
	code, fields := s.Admin.Call("POST", path+"/restore", object{"version": first}).Problem(t, 409)
	require.Equal(t, "column_in_use policies", code+" "+strings.Join(fields, " "))
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

// TestDroppedColumnsAreNotToldByTheLogAndTheOrder checks that callers who would not see a dropped column
// learn its values neither from what the history says of commits nor from the order of rows along a
// curve of the column.
func TestDroppedColumnsAreNotToldByTheLogAndTheOrder(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	for _, kind := range []string{"cls", "mask"} {
		table, name := "told_"+kind, "pay_"+kind
		s.Table(table, `SELECT i AS id, 'SECRET-' || ((i * 37) % 101) AS `+name+` FROM range(100) t(i)`, nil,
			column{"id", "long"}, column{name, "string"})
		path := s.TablePath(table)
		s.Rule(kind, "", name, harness.ViewersNot)
		s.Admin.OK("POST", path+"/constraints", object{"constraints": list{object{"name": "c", "expr": name + " <> 'SECRET-x'"}}})
		s.Admin.OK("DELETE", path+"/constraints/c", nil)
		s.Admin.OK("POST", path+"/optimize", object{"zorder_by": list{name}})
		viewer := s.Member(kind+"2@acme.example", "viewer", nil)
		order := func(c *harness.Client) []any { return c.Rows("SELECT id FROM " + s.Schema + "." + table) }
		before := order(viewer)
		require.NotEqual(t, before, order(s.Admin), "the curve has an order of its own")
		s.Admin.OK("DELETE", path+"/columns/"+name, nil)
		require.Equal(t, before, order(viewer))
		for _, entry := range viewer.OK("GET", path+"/history", nil)["versions"].(list) {
			require.Nil(t, entry.(object)["operationParameters"])
			require.Nil(t, entry.(object)["operationMetrics"])
		}
		require.NotContains(t, string(viewer.Call("GET", path+"/history", nil).Body), name)
		require.Contains(t, string(s.Admin.Call("GET", path+"/history", nil).Body), name)
	}
}
