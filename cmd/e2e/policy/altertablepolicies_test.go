package policy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// answersAlike makes one request of each of two tables that differ in hidden rows only,
// and returns the answer to both.
func answersAlike(c *harness.Client, method, path, other, below string, body any) harness.Reply {
	c.T.Helper()
	a, b := c.Call(method, path+below, body), c.Call(method, other+below, body)
	require.Equal(c.T, a.Status, b.Status)
	require.Equal(c.T, harness.RequestID.ReplaceAllString(string(a.Body), ""), harness.RequestID.ReplaceAllString(string(b.Body), ""))
	return a
}

// hiding makes two tables of which ben, a builder, sees one row: the other rows
// are hidden, and other ones in each table.
func hiding(t *testing.T) (s *harness.Server, ben *harness.Client, path, other string) {
	s = harness.Shared(t)
	columns := []column{{"id", "long"}, {"tenant", "string"}, {"note", "string"}}
	const mine = `SELECT 1 AS id, 'a' AS tenant, 'mine' AS note UNION ALL `
	s.Table("loans", mine+`SELECT 2, 'b', 'SECRET-b'`, nil, columns...)
	s.Table("wild", mine+`SELECT 10 + i, 'c', NULL FROM range(50) t(i)`, nil, columns...)
	for _, table := range []string{"loans", "wild"} {
		s.Policy(table, "tenant", `{"effect":"permit","subject":{"attribute":"tenant","op":"eq"},"condition":null}`)
		s.Policy(table, "", `{"effect":"permit","subject":{"role":"admin"},"condition":null}`)
	}
	return s, s.Member("ben@acme.example", "builder", map[string]string{"tenant": "a"}), s.TablePath("loans"), s.TablePath("wild")
}

// TestRenamesBringNoPermitIntoForce checks that a permit about a column that the table
// lacks allows nothing, and that a caller who may change tables cannot bring it into
// force.
func TestRenamesBringNoPermitIntoForce(t *testing.T) {
	t.Parallel()
	s, ben, path, other := hiding(t)
	mine := list{list{1.0, "a", "mine"}}
	s.Policy("", "", `{"effect":"permit","subject":{"everyone":true},"condition":{"or":[{"not":{"column":"Shared","op":"is_null"}},{"column":"open","op":"eq","value":"yes"}]}}`)
	s.Policy("", "region", `{"effect":"permit","subject":{"everyone":true},"condition":null}`)
	s.Rule("cls", "", "ssn", harness.ViewersNot)
	s.Rule("mask", "", "iban", `{"effect":"forbid","subject":{"role":"viewer"},"mask":"hash"}`)
	off := s.Policy("", "later", `{"effect":"permit","subject":{"everyone":true},"condition":null}`)
	s.Admin.OK("PATCH", "/v1/organisations/"+s.Boot.OrganisationID+"/policies/"+off["id"].(string),
		object{"enabled": false, "expectedVersion": 1})
	text := s.Admin.OK("POST", "/v1/organisations/"+s.Boot.OrganisationID+"/policies", object{
		"kind": "rls", "policyText": `permit (principal, action, resource) when { resource has written && resource.written == "yes" };`,
	})
	versions := list{s.Admin.Version(path), s.Admin.Version(other)}
	for _, name := range []string{"shared", "SHARED", "open", "Region", "ssn", "IBAN", "later", "Written"} {
		for _, r := range []harness.Reply{
			answersAlike(ben, "PATCH", path, other, "/columns/note", object{"name": name}),
			answersAlike(ben, "POST", path, other, "/columns", object{"name": name, "type": "string"}),
			answersAlike(s.Admin, "POST", path, other, "/columns", object{"name": name, "type": "string"}),
		} {
			code, fields := r.Problem(t, 409)
			require.Equal(t, "column_in_use", code, name)
			require.Equal(t, []string{"policies"}, fields, name)
		}
	}
	require.Contains(t, string(ben.Call("POST", path+"/columns", object{"name": "written", "type": "string"}).Body), text["id"].(string))
	require.Equal(t, versions, list{s.Admin.Version(path), s.Admin.Version(other)}, "nothing was committed")
	for _, table := range []string{"loans", "wild"} {
		require.Equal(t, mine, ben.Rows("SELECT * FROM "+s.Schema+"."+table), table)
	}

	// The name of a visible column is refused as taken; other names are free.
	code, _ := answersAlike(ben, "POST", path, other, "/columns", object{"name": "TENANT", "type": "string"}).Problem(t, 409)
	require.Equal(t, "already_exists", code)
	require.Equal(t, 200, answersAlike(ben, "POST", path, other, "/columns", object{"name": "more", "type": "string"}).Status)
	require.Equal(t, 200, answersAlike(ben, "PATCH", path, other, "/columns/more", object{"name": "else"}).Status)

	// A hidden column cannot be distinguished from one of other tables.
	s.Rule("cls", "", "note", `{"effect":"forbid","subject":{"role":"builder"}}`)
	code, fields := ben.Call("POST", path+"/columns", object{"name": "Note", "type": "string"}).Problem(t, 409)
	require.Equal(t, "column_in_use", code)
	require.Equal(t, []string{"policies"}, fields)
}

// TestRestoresBringNoPermitIntoForce checks that a restore of a version with a column
// that the table now lacks does not bring a permit about it into force.
func TestRestoresBringNoPermitIntoForce(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	s.Table("loans", `SELECT i AS id, 'x' AS shared FROM range(3) t(i)`, nil, column{"id", "long"}, column{"shared", "string"})
	path := s.TablePath("loans")
	former := s.Admin.Version(path)
	s.Admin.OK("DELETE", path+"/columns/shared", nil)
	s.Policy("loans", "", `{"effect":"permit","subject":{"role":"admin"},"condition":null}`)
	p := s.Policy("", "Shared", `{"effect":"permit","subject":{"everyone":true},"condition":null}`)
	vic := s.Member("v@acme.example", "viewer", nil)
	require.Empty(t, vic.Rows("SELECT id FROM "+s.Schema+".loans"))
	code, fields := s.Admin.Call("POST", path+"/restore", object{"version": former}).Problem(t, 409)
	require.Equal(t, "column_in_use", code)
	require.Equal(t, []string{"policies"}, fields)
	require.Empty(t, vic.Rows("SELECT id FROM "+s.Schema+".loans"))
	require.Less(t, s.Admin.Call("DELETE", "/v1/organisations/"+s.Boot.OrganisationID+"/policies/"+p["id"].(string)+"?expectedVersion=1",
		nil).Status, 300)
	require.Equal(t, []string{"id", "shared"}, harness.ColumnsIn(s.Admin.OK("POST", path+"/restore", object{"version": former})))
	require.Empty(t, vic.Rows("SELECT id FROM "+s.Schema+".loans"))
}
