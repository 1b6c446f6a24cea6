package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// ownRegion are the policies of a table whose viewers see the rows of their region.
func (s *testServer) ownRegion(table string) {
	s.t.Helper()
	for _, text := range []string{
		`permit (principal in Role::"admin", action, resource);`,
		`permit (principal, action, resource) when { principal has region && resource has region && resource.region == principal.region };`,
	} {
		body := object{"kind": "rls", "policyText": text}
		if table != "" {
			body["tableFqn"] = "lake." + s.schema + "." + table
		}
		s.admin.ok("POST", "/v1/organisations/"+s.boot.OrganisationID+"/policies", body)
	}
}

// regional makes a table with one row for each pair of a region and a tenant.
func (s *testServer) regional(name string) (path string) {
	s.t.Helper()
	s.table(name, `SELECT * FROM (VALUES (1, 'a', 'a'), (2, 'a', 'b'), (3, 'b', 'a'), (4, 'b', 'b')) t(id, region, tenant)`, nil,
		column{"id", "long"}, column{"region", "string"}, column{"tenant", "string"})
	return s.tablePath(name)
}

// ids are the rows that a caller sees of a version.
func (c *client) ids(from string, version float64) (out list) {
	c.t.Helper()
	out = list{}
	for _, row := range c.rows(fmt.Sprintf("SELECT id FROM %s AT (VERSION => %.0f) ORDER BY id", from, version)) {
		out = append(out, row.(list)[0])
	}
	require.Equal(c.t, list{list{float64(len(out))}}, c.rows(fmt.Sprintf("SELECT count(*) FROM %s AT (VERSION => %.0f)", from, version)))
	return out
}

// TestARowPolicyFollowsItsColumnIntoFormerVersions: what is called region now
// decides the rows of every version, whatever it was called then, and what was
// called region then decides none.
func TestARowPolicyFollowsItsColumnIntoFormerVersions(t *testing.T) {
	s := startServer(t, nil)
	path, from := s.regional("sw"), s.schema+".sw"
	first := s.admin.version(path)
	viewer := s.member("v@acme.example", "viewer", map[string]string{"region": "a"})
	page := viewer.ok("GET", path+"/rows?order_by=id&page_size=1", nil)
	s.admin.ok("PATCH", path+"/columns/region", object{"name": "label"})
	s.admin.ok("PATCH", path+"/columns/tenant", object{"name": "region"})
	s.ownRegion("sw")
	page = viewer.ok("GET", path+"/rows?order_by=id&page_size=3&page_token="+page["next_page_token"].(string), nil)
	require.Equal(t, list{list{3.0, "b", "a"}}, page["rows"], "pages stay at their version")
	for version := first; version <= s.admin.version(path); version++ {
		require.Equal(t, list{1.0, 3.0}, viewer.ids(from, version), "version %v", version)
		require.Equal(t, list{1.0, 2.0, 3.0, 4.0}, s.admin.ids(from, version), "version %v", version)
	}

	// A forbid, and a test for whether there is a value, follow it too.
	s.policy("sw", "", `{"effect":"forbid","subject":{"role":"viewer"},"condition":{"column":"label","op":"eq","value":"b"}}`)
	for version := first; version <= s.admin.version(path); version++ {
		require.Equal(t, list{1.0}, viewer.ids(from, version), "version %v", version)
	}
}

// TestNoOtherColumnOfTheNameDecidesFormerRows: a version without the column that a
// policy decides by shows no row, also where another column had its name.
func TestNoOtherColumnOfTheNameDecidesFormerRows(t *testing.T) {
	s := startServer(t, nil)
	path, from := s.regional("again"), s.schema+".again"
	first := s.admin.version(path)
	s.admin.ok("DELETE", path+"/columns/region", nil)
	s.admin.ok("POST", path+"/columns", object{"name": "region", "type": "string"})
	s.admin.write(path+"/rows", rowsOf(object{"id": 5, "tenant": "a", "region": "a"}))
	s.ownRegion("again")
	viewer := s.member("v@acme.example", "viewer", map[string]string{"region": "a"})
	require.Equal(t, list{5.0}, viewer.ids(from, s.admin.version(path)))
	for version := first; version < s.admin.version(path); version++ {
		require.Empty(t, viewer.ids(from, version), "version %v", version)
		require.Equal(t, list{1.0, 2.0, 3.0, 4.0}, s.admin.ids(from, version), "version %v", version)
	}
}

// TestAFormerColumnBringsNoPermitIntoForce: a permit of every table that has a
// column is not in force where the newest version lacks it, and so shows no row of
// a former version that has it.
func TestAFormerColumnBringsNoPermitIntoForce(t *testing.T) {
	s := startServer(t, nil)
	path, from := s.regional("loans"), s.schema+".loans"
	first := s.admin.version(path)
	s.admin.ok("DELETE", path+"/columns/tenant", nil)
	s.policy("loans", "", `{"effect":"permit","subject":{"role":"admin"},"condition":null}`)
	s.policy("", "tenant", `{"effect":"permit","subject":{"everyone":true},"condition":null}`)
	viewer := s.member("v@acme.example", "viewer", nil)
	require.Empty(t, viewer.ids(from, s.admin.version(path)))
	require.Empty(t, viewer.ids(from, first))
	require.Len(t, s.admin.ids(from, first), 4)
}

// TestAPolicyOfAFormerColumnHides: where the newest version has no other row policy,
// one of every table about a column that only a former version has hides its rows.
func TestAPolicyOfAFormerColumnHides(t *testing.T) {
	s := startServer(t, nil)
	path, from := s.regional("open"), s.schema+".open"
	first := s.admin.version(path)
	s.policy("", "tenant", `{"effect":"permit","subject":{"role":"admin"},"condition":null}`)
	s.policy("", "tenant", `{"effect":"permit","subject":{"everyone":true},"condition":{"op":"eq","value":"a"}}`)
	viewer := s.member("v@acme.example", "viewer", nil)
	require.Equal(t, list{1.0, 3.0}, viewer.ids(from, first))
	renameElsewhere(t, s.root+"/open", "tenant", "other")
	require.Len(t, viewer.ids(from, s.admin.version(path)), 4, "no policy is about a column that is there")
	require.Empty(t, viewer.ids(from, first))
	require.Len(t, s.admin.ids(from, first), 4)
}

// byText has a row policy written by hand in force while f runs, beside one that
// permits all where it is a forbid. Without a table it is one of every table.
func (s *testServer) byText(table, text string, f func()) {
	s.t.Helper()
	policies := "/v1/organisations/" + s.boot.OrganisationID + "/policies"
	texts := []string{text}
	if strings.HasPrefix(text, "forbid") {
		texts = append(texts, "permit (principal, action, resource);")
	}
	for _, text := range texts {
		body := object{"kind": "rls", "policyText": text}
		if table != "" {
			body["tableFqn"] = "lake." + s.schema + "." + table
		}
		made := s.admin.ok("POST", policies, body)
		defer func() {
			require.Less(s.t, s.admin.call("DELETE", policies+"/"+made["id"].(string)+"?expectedVersion=1", nil).status, 300)
		}()
	}
	f()
}

// TestConditionsWhereTheColumnIsAbsent checks that a version from before a column, and
// a table that never had it, show what Cedar decides for an absent attribute. On an
// error a permit does not allow the row, and a forbid hides it.
func TestConditionsWhereTheColumnIsAbsent(t *testing.T) {
	s := startServer(t, nil)
	s.table("late", `SELECT * FROM (VALUES (1), (2), (3)) t(id)`, nil, column{"id", "long"})
	s.table("never", `SELECT * FROM (VALUES (1), (2), (3)) t(id)`, nil, column{"id", "long"})
	path, from, never := s.tablePath("late"), s.schema+".late", s.tablePath("never")
	first := s.admin.version(path)
	s.admin.ok("POST", path+"/columns", object{"name": "region", "type": "string"})
	s.admin.write(path+"/rows", rowsOf(object{"id": 4, "region": "eu"}))
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
			s.byText(table, tc.text, func() {
				require.Equal(t, tc.newest, s.admin.ids(from, s.admin.version(path)), tc.text)
				require.Equal(t, tc.former, s.admin.ids(from, first), tc.text)
				if table == "late" {
					return
				}
				require.Equal(t, tc.former, s.admin.ids(s.schema+".never", s.admin.version(never)), tc.text)
				simulated := s.admin.ok("POST", "/v1/organisations/"+s.boot.OrganisationID+"/policies/simulate",
					object{"tableFqn": "lake." + s.schema + ".never", "role": "viewer"})
				require.EqualValues(t, len(tc.former), simulated["visibleRowCount"], tc.text)
			})
		}
	}
	s.byText("", permit+`resource.region == "eu" || resource.id > 0 };`, func() {
		code, _ := s.admin.call("POST", never+"/rows", object{"rows": list{object{"id": 9}}}).problem(t, 403)
		require.Equal(t, "rls_violation", code)
	})
	s.byText("", permit+`!(resource has region) };`, func() {
		s.admin.write(never+"/rows", rowsOf(object{"id": 9}))
	})

	// The policy of a table cannot rely on the absence of a column that another
	// writer has renamed: the rows have it still.
	renameElsewhere(t, s.root+"/late", "region", "area")
	for _, text := range []string{
		permit + `!(resource has region) };`, forbid + `resource has region && resource.region == "eu" };`,
	} {
		s.byText("late", text, func() {
			require.Empty(t, s.admin.ids(from, s.admin.version(path)), text)
			require.Empty(t, s.admin.ids(from, first), text)
			require.Empty(t, s.admin.ids(from, s.admin.version(path)-1), text)
		})
	}
	// In a version with another column of that name, absence is uncertain.
	s.byText("", forbid+`resource has region && resource.region == "eu" };`, func() {
		require.Len(t, s.admin.ids(from, first), 3)
		require.Empty(t, s.admin.ids(from, s.admin.version(path)-1))
	})
}
