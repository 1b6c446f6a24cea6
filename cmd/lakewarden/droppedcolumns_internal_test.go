package main

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestADroppedColumnStaysHiddenInFormerVersions: a policy of every table that hides or
// masks a column goes on without it, whatever the column was called before.
func TestADroppedColumnStaysHiddenInFormerVersions(t *testing.T) {
	s := startServer(t, nil)
	for _, kind := range []string{"cls", "mask"} {
		s.table(kind, `SELECT i AS id, 'SECRET-' || i AS tax FROM range(3) t(i)`, nil, column{"id", "long"}, column{"tax", "string"})
		path, from, name := s.tablePath(kind), s.schema+"."+kind, "number_"+kind
		first := s.admin.version(path)
		s.admin.ok("PATCH", path+"/columns/tax", object{"name": name})
		definition := viewersNot
		if kind == "mask" {
			definition = `{"effect":"forbid","subject":{"role":"viewer"},"mask":"last4"}`
		}
		own := s.rule(kind, kind, name, definition)
		code, fields := s.admin.call("DELETE", path+"/columns/"+name, nil).problem(t, 409)
		require.Equal(t, "column_in_use", code)
		require.Equal(t, []string{"policies"}, fields, "one of the table would close it")
		s.rule(kind, "", name, definition)
		require.Less(t, s.admin.call("DELETE", "/v1/organisations/"+s.boot.OrganisationID+"/policies/"+own["id"].(string)+"?expectedVersion=1", nil).status, 300)
		code, _ = s.admin.call("PATCH", path+"/columns/"+name, object{"name": "free"}).problem(t, 409)
		require.Equal(t, "column_in_use", code, "under another name it would be there")
		last := s.admin.version(path)
		require.Equal(t, []string{"id"}, columnsIn(s.admin.ok("DELETE", path+"/columns/"+name, nil)))

		viewer := s.member(kind+"@acme.example", "viewer", nil)
		kept := func() {
			t.Helper()
			for version := first; version <= last; version++ {
				at := fmt.Sprintf("SELECT * FROM %s AT (VERSION => %.0f)", from, version)
				seen := viewer.query(at)
				require.Equal(t, 200, seen.status, "%s", seen.body)
				require.NotContains(t, string(seen.body), "SECRET")
				require.Contains(t, string(s.admin.query(at).body), "SECRET")
			}
			for _, c := range []*client{viewer, s.admin} {
				require.NotContains(t, string(c.call("GET", path, nil).body), name)
			}
		}
		kept()
		s.admin.ok("POST", path+"/columns", object{"name": "more", "type": "string"})
		kept()

		// From before there was a column of that name, and back again.
		s.admin.ok("POST", path+"/restore", object{"version": last + 1})
		kept()
		require.Equal(t, []string{"id", name}, columnsIn(s.admin.ok("POST", path+"/restore", object{"version": last})))
		require.NotContains(t, string(viewer.query("SELECT * FROM "+from).body), "SECRET")
		require.Contains(t, string(s.admin.query("SELECT * FROM "+from).body), "SECRET")
		s.admin.ok("DELETE", path+"/columns/"+name, nil)
		kept()
	}
}

// TestARowPolicyHoldsItsColumn: a column that decides rows is not dropped, whoever the
// policy is for.
func TestARowPolicyHoldsItsColumn(t *testing.T) {
	s := startServer(t, nil)
	path := s.regional("t")
	s.policy("", "tenant", `{"effect":"permit","subject":{"everyone":true},"condition":{"op":"eq","value":"a"}}`)
	s.policy("t", "", `{"effect":"permit","subject":{"role":"admin"},"condition":null}`)
	code, _ := s.admin.call("DELETE", path+"/columns/tenant", nil).problem(t, 409)
	require.Equal(t, "column_in_use", code)
}
