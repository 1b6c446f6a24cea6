package harness

import (
	"encoding/json"
	"fmt"
	"strconv"
	"testing"
)

// Regional makes a table with one row for each pair of a region and a tenant.
func (s *Server) Regional(name string) (path string) {
	s.T.Helper()
	s.Table(name, `SELECT * FROM (VALUES (1, 'a', 'a'), (2, 'a', 'b'), (3, 'b', 'a'), (4, 'b', 'b')) t(id, region, tenant)`, nil,
		Column{"id", "long"}, Column{"region", "string"}, Column{"tenant", "string"})
	return s.TablePath(name)
}

// Rule creates a policy of any kind.
func (s *Server) Rule(kind, table, column, definition string) map[string]any {
	s.T.Helper()
	body := map[string]any{"kind": kind, "columnName": column, "definition": json.RawMessage(definition)}
	if table != "" {
		body["tableFqn"] = "lake." + s.Schema + "." + table
	}
	return s.Admin.OK("POST", "/v1/organisations/"+s.Boot.OrganisationID+"/policies", body)
}

// Definitions of policies, and the rows of tables that they are about.
const (
	AdminsSee  = `{"effect":"permit","subject":{"role":"admin"}}`
	ViewersNot = `{"effect":"forbid","subject":{"role":"viewer"}}`
	MaskedRows = `SELECT i AS id, 'n' || (i % 5) AS name, 'SECRET-' || (i * 7919 % 1000) AS ssn, i * 10.5 AS pay,
		{'city': 'c' || i, 'zip': i::INT} AS home FROM range(20) t(i)`
	TwinRows = `SELECT i AS id, 'n' || (i % 5) AS name, i * 10.5 AS pay FROM range(20) t(i)`
)

// Count returns the number of rows that the caller sees of a table.
func (c *Client) Count(from string) float64 {
	c.T.Helper()
	return c.Rows("SELECT count(*) FROM " + from)[0].([]any)[0].(float64)
}

// Definition returns the definition of a policy as a part of a JSON body.
func Definition(text string) json.RawMessage { return json.RawMessage(text) }

// Everyone is the definition of a policy that permits all rows.
const Everyone = `{"effect":"permit","subject":{"everyone":true},"condition":null}`

// NewSoak serves 200,000 rows of four regions to four users, one each.
func NewSoak(t *testing.T, change func(*Settings)) (*Server, []*Client) {
	s := Start(t, change)
	s.Table("sales", `SELECT i AS id, 'r' || (i % 4) AS region, i * 1.5 AS amount, repeat('x', (i % 50)::INT) AS note FROM range(200000) t(i)`,
		nil,
		Column{"id", "long"}, Column{"region", "string"}, Column{"amount", "double"}, Column{"note", "string"})
	var users []*Client
	for i := range 4 {
		users = append(users, s.Member(fmt.Sprintf("u%d@acme.example", i), "viewer", map[string]string{"region": "r" + strconv.Itoa(i)}))
	}
	s.Policy("sales", "region", `{"effect":"permit","subject":{"attribute":"region","op":"eq"},"condition":null}`)
	return s, users
}

// Policy creates a row policy from a definition and returns it.
func (s *Server) Policy(table, column, definition string) map[string]any {
	s.T.Helper()
	body := map[string]any{"kind": "rls", "definition": json.RawMessage(definition)}
	if table != "" {
		body["tableFqn"] = "lake." + s.Schema + "." + table
	}
	if column != "" {
		body["columnName"] = column
	}
	return s.Admin.OK("POST", "/v1/organisations/"+s.Boot.OrganisationID+"/policies", body)
}
