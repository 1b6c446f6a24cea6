package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// ownRegion are the policies of a table whose viewers see the rows of their region.
func ownRegion(s *harness.Server, table string) {
	s.T.Helper()
	for _, text := range []string{
		`permit (principal in Role::"admin", action, resource);`,
		`permit (principal, action, resource) when { principal has region && resource has region && resource.region == principal.region };`,
	} {
		body := object{"kind": "rls", "policyText": text}
		if table != "" {
			body["tableFqn"] = "lake." + s.Schema + "." + table
		}
		s.Admin.OK("POST", "/v1/organisations/"+s.Boot.OrganisationID+"/policies", body)
	}
}

// idsAt are the rows that a caller sees of a version.
func idsAt(c *harness.Client, from string, version float64) (out list) {
	c.T.Helper()
	out = list{}
	for _, row := range c.Rows(fmt.Sprintf("SELECT id FROM %s AT (VERSION => %.0f) ORDER BY id", from, version)) {
		out = append(out, row.(list)[0])
	}
	require.Equal(c.T, list{list{float64(len(out))}}, c.Rows(fmt.Sprintf("SELECT count(*) FROM %s AT (VERSION => %.0f)", from, version)))
	return out
}

// TestRowPolicyFollowsItsColumnIntoHistoricalVersions checks that the column that is
// called region now decides the rows of every version, whatever its name was then, and
// that a column that was called region then decides none.
func TestRowPolicyFollowsItsColumnIntoHistoricalVersions(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	path, from := s.Regional("sw"), s.Schema+".sw"
	first := s.Admin.Version(path)
	viewer := s.Member("v@acme.example", "viewer", map[string]string{"region": "a"})
	page := viewer.OK("GET", path+"/rows?order_by=id&page_size=1", nil)
	s.Admin.OK("PATCH", path+"/columns/region", object{"name": "label"})
	s.Admin.OK("PATCH", path+"/columns/tenant", object{"name": "region"})
	ownRegion(s, "sw")
	page = viewer.OK("GET", path+"/rows?order_by=id&page_size=3&page_token="+page["next_page_token"].(string), nil)
	require.Equal(t, list{list{3.0, "b", "a"}}, page["rows"], "pages stay at their version")
	for version := first; version <= s.Admin.Version(path); version++ {
		require.Equal(t, list{1.0, 3.0}, idsAt(viewer, from, version), "version %v", version)
		require.Equal(t, list{1.0, 2.0, 3.0, 4.0}, idsAt(s.Admin, from, version), "version %v", version)
	}

	// A forbid, and a test for whether there is a value, follow it too.
	s.Policy("sw", "", `{"effect":"forbid","subject":{"role":"viewer"},"condition":{"column":"label","op":"eq","value":"b"}}`)
	for version := first; version <= s.Admin.Version(path); version++ {
		require.Equal(t, list{1.0}, idsAt(viewer, from, version), "version %v", version)
	}
}

// TestOtherColumnOfTheNameDecidesNoHistoricalRows checks that a version without the
// column of a policy shows no row, even if another column had the column's name.
func TestOtherColumnOfTheNameDecidesNoHistoricalRows(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	path, from := s.Regional("again"), s.Schema+".again"
	first := s.Admin.Version(path)
	s.Admin.OK("DELETE", path+"/columns/region", nil)
	s.Admin.OK("POST", path+"/columns", object{"name": "region", "type": "string"})
	s.Admin.Write(path+"/rows", harness.RowsOf(object{"id": 5, "tenant": "a", "region": "a"}))
	ownRegion(s, "again")
	viewer := s.Member("v@acme.example", "viewer", map[string]string{"region": "a"})
	require.Equal(t, list{5.0}, idsAt(viewer, from, s.Admin.Version(path)))
	for version := first; version < s.Admin.Version(path); version++ {
		require.Empty(t, idsAt(viewer, from, version), "version %v", version)
		require.Equal(t, list{1.0, 2.0, 3.0, 4.0}, idsAt(s.Admin, from, version), "version %v", version)
	}
}

// TestHistoricalColumnBringsNoPermitIntoForce checks a permit for every table with a
// certain column. It is not in force if the newest version lacks the column, and so shows
// no row of a historical version that has it.
func TestHistoricalColumnBringsNoPermitIntoForce(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	path, from := s.Regional("loans"), s.Schema+".loans"
	first := s.Admin.Version(path)
	s.Admin.OK("DELETE", path+"/columns/tenant", nil)
	s.Policy("loans", "", `{"effect":"permit","subject":{"role":"admin"},"condition":null}`)
	s.Policy("", "tenant", `{"effect":"permit","subject":{"everyone":true},"condition":null}`)
	viewer := s.Member("v@acme.example", "viewer", nil)
	require.Empty(t, idsAt(viewer, from, s.Admin.Version(path)))
	require.Empty(t, idsAt(viewer, from, first))
	require.Len(t, idsAt(s.Admin, from, first), 4)
}

// TestPolicyOnHistoricalColumnHidesRows checks a policy for all tables about a column
// that only a historical version has. It hides the rows of that version, even if no other
// row policy applies to the newest version.
func TestPolicyOnHistoricalColumnHidesRows(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	path, from := s.Regional("open"), s.Schema+".open"
	first := s.Admin.Version(path)
	s.Policy("", "tenant", `{"effect":"permit","subject":{"role":"admin"},"condition":null}`)
	s.Policy("", "tenant", `{"effect":"permit","subject":{"everyone":true},"condition":{"op":"eq","value":"a"}}`)
	viewer := s.Member("v@acme.example", "viewer", nil)
	require.Equal(t, list{1.0, 3.0}, idsAt(viewer, from, first))
	harness.RenameElsewhere(t, s.Root+"/open", "tenant", "other")
	require.Len(t, idsAt(viewer, from, s.Admin.Version(path)), 4, "no policy is about a column that is there")
	require.Empty(t, idsAt(viewer, from, first))
	require.Len(t, idsAt(s.Admin, from, first), 4)
}

// withTextPolicy has a row policy written by hand in force while f runs, and if it
// forbids, another one that permits all. Without a table it is a policy of every table.
func withTextPolicy(s *harness.Server, table, text string, f func()) {
	s.T.Helper()
	policies := "/v1/organisations/" + s.Boot.OrganisationID + "/policies"
	texts := []string{text}
	if strings.HasPrefix(text, "forbid") {
		texts = append(texts, "permit (principal, action, resource);")
	}
	for _, text := range texts {
		body := object{"kind": "rls", "policyText": text}
		if table != "" {
			body["tableFqn"] = "lake." + s.Schema + "." + table
		}
		made := s.Admin.OK("POST", policies, body)
		defer func() {
			require.Less(s.T, s.Admin.Call("DELETE", policies+"/"+made["id"].(string)+"?expectedVersion=1", nil).Status, 300)
		}()
	}
	f()
}

// TestConditionsWhereTheColumnIsAbsent checks that a version from before a column, and
// a table that never had it, show what Cedar decides for an absent attribute. On an
// error a permit does not allow the row, and a forbid hides it.
func TestConditionsWhereTheColumnIsAbsent(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	s.Table("late", `SELECT * FROM (VALUES (1), (2), (3)) t(id)`, nil, column{"id", "long"})
	s.Table("never", `SELECT * FROM (VALUES (1), (2), (3)) t(id)`, nil, column{"id", "long"})
	path, from, never := s.TablePath("late"), s.Schema+".late", s.TablePath("never")
	first := s.Admin.Version(path)
	s.Admin.OK("POST", path+"/columns", object{"name": "region", "type": "string"})
	s.Admin.Write(path+"/rows", harness.RowsOf(object{"id": 4, "region": "eu"}))
	const permit, forbid = "permit (principal, action, resource) when { ", "forbid (principal, action, resource) when { "
	for _, tc := range []struct {
		text           string
		newest, former list
	}{
		{permit + `resource.region == "eu" || resource.id > 0 };`, list{4.0}, list{}},
		{permit + `resource.id > 2 || resource.region == "eu" };`, list{3.0, 4.0}, list{3.0}},
		{permit + `!(resource has region) };`, list{1.0, 2.0, 3.0}, list{1.0, 2.0, 3.0}},
		{permit + `resource has region && resource.region == "eu" || resource.id > 1 };`, list{2.0, 3.0, 4.0}, list{2.0, 3.0}},
		{permit + `resource.region like "e*" || resource.id > 0 };`, list{4.0}, list{}},
		{permit + `["eu", "us"].contains(resource.region) || resource.id > 0 };`, list{4.0}, list{}},
		{permit + `!(resource.region != "eu" && resource.id < 0) };`, list{4.0}, list{}},
		{forbid + `resource.region == "us" && resource.id > 2 };`, list{1.0, 2.0, 4.0}, list{}},
		{forbid + `resource.id > 2 && resource.region == "us" };`, list{1.0, 2.0, 4.0}, list{1.0, 2.0}},
		{forbid + `resource has region && resource.region == "eu" };`, list{1.0, 2.0, 3.0}, list{1.0, 2.0, 3.0}},
	} {
		for _, table := range []string{"late", ""} {
			withTextPolicy(s, table, tc.text, func() {
				require.Equal(t, tc.newest, idsAt(s.Admin, from, s.Admin.Version(path)), tc.text)
				require.Equal(t, tc.former, idsAt(s.Admin, from, first), tc.text)
				if table == "late" {
					return
				}
				require.Equal(t, tc.former, idsAt(s.Admin, s.Schema+".never", s.Admin.Version(never)), tc.text)
				simulated := s.Admin.OK("POST", "/v1/organisations/"+s.Boot.OrganisationID+"/policies/simulate",
					object{"tableFqn": "lake." + s.Schema + ".never", "role": "viewer"})
				require.EqualValues(t, len(tc.former), simulated["visibleRowCount"], tc.text)
			})
		}
	}
	withTextPolicy(s, "", permit+`resource.region == "eu" || resource.id > 0 };`, func() {
		code, _ := s.Admin.Call("POST", never+"/rows", object{"rows": list{object{"id": 9}}}).Problem(t, 403)
		require.Equal(t, "rls_violation", code)
	})
	withTextPolicy(s, "", permit+`!(resource has region) };`, func() {
		s.Admin.Write(never+"/rows", harness.RowsOf(object{"id": 9}))
	})

	// The policy of a table cannot rely on the absence of a column that another
	// writer has renamed: the rows have it still.
	harness.RenameElsewhere(t, s.Root+"/late", "region", "area")
	for _, text := range []string{
		permit + `!(resource has region) };`, forbid + `resource has region && resource.region == "eu" };`,
	} {
		withTextPolicy(s, "late", text, func() {
			require.Empty(t, idsAt(s.Admin, from, s.Admin.Version(path)), text)
			require.Empty(t, idsAt(s.Admin, from, first), text)
			require.Empty(t, idsAt(s.Admin, from, s.Admin.Version(path)-1), text)
		})
	}
	// In a version with another column of that name, absence is uncertain.
	withTextPolicy(s, "", forbid+`resource has region && resource.region == "eu" };`, func() {
		require.Len(t, idsAt(s.Admin, from, first), 3)
		require.Empty(t, idsAt(s.Admin, from, s.Admin.Version(path)-1))
	})
}
