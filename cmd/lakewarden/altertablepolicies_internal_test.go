package main

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

var requestID = regexp.MustCompile(`"request_id":"[^"]*"`)

// same makes one request of each of two tables that differ in hidden rows only,
// and returns the answer to both.
func (c *client) same(method, path, other, below string, body any) reply {
	c.t.Helper()
	a, b := c.call(method, path+below, body), c.call(method, other+below, body)
	require.Equal(c.t, a.status, b.status)
	require.Equal(c.t, requestID.ReplaceAllString(string(a.body), ""), requestID.ReplaceAllString(string(b.body), ""))
	return a
}

// hiding makes two tables of which ben, a builder, sees one row: the other rows
// are hidden, and other ones in each table.
func hiding(t *testing.T) (s *testServer, ben *client, path, other string) {
	s = startServer(t, nil)
	columns := []column{{"id", "long"}, {"tenant", "string"}, {"note", "string"}}
	const mine = `SELECT 1 AS id, 'a' AS tenant, 'mine' AS note UNION ALL `
	s.table("loans", mine+`SELECT 2, 'b', 'SECRET-b'`, nil, columns...)
	s.table("wild", mine+`SELECT 10 + i, 'c', NULL FROM range(50) t(i)`, nil, columns...)
	for _, table := range []string{"loans", "wild"} {
		s.policy(table, "tenant", `{"effect":"permit","subject":{"attribute":"tenant","op":"eq"},"condition":null}`)
		s.policy(table, "", `{"effect":"permit","subject":{"role":"admin"},"condition":null}`)
	}
	return s, s.member("ben@acme.example", "builder", map[string]string{"tenant": "a"}), s.tablePath("loans"), s.tablePath("wild")
}

// TestNoNewNameBringsAPermitIntoForce: a permit about a column that a table lacks
// allows nothing there, and whoever may change tables cannot make it allow.
func TestNoNewNameBringsAPermitIntoForce(t *testing.T) {
	s, ben, path, other := hiding(t)
	mine := list{list{1.0, "a", "mine"}}
	s.policy("", "", `{"effect":"permit","subject":{"everyone":true},"condition":{"or":[{"not":{"column":"Shared","op":"is_null"}},{"column":"open","op":"eq","value":"yes"}]}}`)
	s.policy("", "region", `{"effect":"permit","subject":{"everyone":true},"condition":null}`)
	s.rule("cls", "", "ssn", viewersNot)
	s.rule("mask", "", "iban", `{"effect":"forbid","subject":{"role":"viewer"},"mask":"hash"}`)
	off := s.policy("", "later", `{"effect":"permit","subject":{"everyone":true},"condition":null}`)
	s.admin.ok("PATCH", "/v1/organisations/"+s.boot.OrganisationID+"/policies/"+off["id"].(string), object{"enabled": false, "expectedVersion": 1})
	text := s.admin.ok("POST", "/v1/organisations/"+s.boot.OrganisationID+"/policies", object{
		"kind": "rls", "policyText": `permit (principal, action, resource) when { resource has written && resource.written == "yes" };`,
	})
	versions := list{s.admin.version(path), s.admin.version(other)}
	for _, name := range []string{"shared", "SHARED", "open", "Region", "ssn", "IBAN", "later", "Written"} {
		for _, r := range []reply{
			ben.same("PATCH", path, other, "/columns/note", object{"name": name}),
			ben.same("POST", path, other, "/columns", object{"name": name, "type": "string"}),
			s.admin.same("POST", path, other, "/columns", object{"name": name, "type": "string"}),
		} {
			code, fields := r.problem(t, 409)
			require.Equal(t, "column_in_use", code, name)
			require.Equal(t, []string{"policies"}, fields, name)
		}
	}
	require.Contains(t, string(ben.call("POST", path+"/columns", object{"name": "written", "type": "string"}).body), text["id"].(string))
	require.Equal(t, versions, list{s.admin.version(path), s.admin.version(other)}, "nothing was committed")
	for _, table := range []string{"loans", "wild"} {
		require.Equal(t, mine, ben.rows("SELECT * FROM "+s.schema+"."+table), table)
	}

	// A column that is seen is said to exist; other names are free.
	code, _ := ben.same("POST", path, other, "/columns", object{"name": "TENANT", "type": "string"}).problem(t, 409)
	require.Equal(t, "already_exists", code)
	require.Equal(t, 200, ben.same("POST", path, other, "/columns", object{"name": "more", "type": "string"}).status)
	require.Equal(t, 200, ben.same("PATCH", path, other, "/columns/more", object{"name": "else"}).status)

	// A hidden column is not told from one of other tables.
	s.rule("cls", "", "note", `{"effect":"forbid","subject":{"role":"builder"}}`)
	code, fields := ben.call("POST", path+"/columns", object{"name": "Note", "type": "string"}).problem(t, 409)
	require.Equal(t, "column_in_use", code)
	require.Equal(t, []string{"policies"}, fields)
}

// TestNoRestoreBringsAPermitIntoForce: nor does a column that only a former
// version has.
func TestNoRestoreBringsAPermitIntoForce(t *testing.T) {
	s := startServer(t, nil)
	s.table("loans", `SELECT i AS id, 'x' AS shared FROM range(3) t(i)`, nil, column{"id", "long"}, column{"shared", "string"})
	path := s.tablePath("loans")
	former := s.admin.version(path)
	s.admin.ok("DELETE", path+"/columns/shared", nil)
	s.policy("loans", "", `{"effect":"permit","subject":{"role":"admin"},"condition":null}`)
	p := s.policy("", "Shared", `{"effect":"permit","subject":{"everyone":true},"condition":null}`)
	vic := s.member("v@acme.example", "viewer", nil)
	require.Empty(t, vic.rows("SELECT id FROM "+s.schema+".loans"))
	code, fields := s.admin.call("POST", path+"/restore", object{"version": former}).problem(t, 409)
	require.Equal(t, "column_in_use", code)
	require.Equal(t, []string{"policies"}, fields)
	require.Empty(t, vic.rows("SELECT id FROM "+s.schema+".loans"))
	require.Less(t, s.admin.call("DELETE", "/v1/organisations/"+s.boot.OrganisationID+"/policies/"+p["id"].(string)+"?expectedVersion=1", nil).status, 300)
	require.Equal(t, []string{"id", "shared"}, columnsIn(s.admin.ok("POST", path+"/restore", object{"version": former})))
	require.Empty(t, vic.rows("SELECT id FROM "+s.schema+".loans"))
}
