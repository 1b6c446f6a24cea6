package worlds_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// TestTwoWorldsOfSandboxes compares an organisation that never had a sandbox with one that
// has switched it off, and rows of a sandbox that a policy hides.
func TestTwoWorldsOfSandboxes(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	org := "/v1/organisations/" + s.Boot.OrganisationID
	editor, viewer := s.Member("editor@acme.example", "editor", map[string]string{"region": "eu"}),
		s.Member("viewer@acme.example", "viewer", map[string]string{"region": "eu"})
	w := &identityWorlds{Server: s}
	define := func(name string) object {
		return object{"catalog": "lake", "schema": "sandbox", "name": name, "columns": list{harness.Col("id", "long", "isPrimaryKey", true),
			harness.Col("region", "string")}}
	}
	path := func(name string) string { return "/v1/tables/lake/sandbox/" + name }
	asks := []harness.Ask{
		{Method: "GET", Path: "/v1/storages/configs"}, {Method: "GET", Path: "/v1/tables"}, {Method: "GET", Path: path("w0")},
		{Method: "GET", Path: path("w0") + "/rows"}, {Method: "POST", Path: path("w0") + "/rows", Body: harness.RowsOf(object{"id": 1})},
		{Method: "POST", Path: "/v1/tables", Body: define("w0")}, {Method: "DELETE", Path: path("w0")},
		harness.SQLAsk("SELECT * FROM sandbox.w0"), harness.SQLAsk("SHOW TABLES"),
		harness.SQLAsk("SELECT table_schema, table_name FROM information_schema.tables"),
	}
	callers := map[string]*harness.Client{"an editor": editor, "a viewer": viewer, "an administrator": s.Admin}
	answers := func() map[string][]harness.Answer {
		out := map[string][]harness.Answer{}
		for name, c := range callers {
			out[name] = w.ask(c, asks)
		}
		return out
	}
	never := answers()
	s.Admin.OK("PATCH", org+"/config", object{"sandbox_enabled": true})
	for i, rows := range []list{{}, {object{"id": 2, "region": "us"}, object{"id": 3, "region": harness.Canary}}} {
		name := fmt.Sprintf("w%d", i)
		s.Admin.OK("POST", "/v1/tables", define(name))
		s.Admin.Write(path(name)+"/rows", harness.RowsOf(append(list{object{"id": 1, "region": "eu"}}, rows...)...))
		for _, definition := range []string{harness.AdminsSee, `{"effect":"permit","subject":{"attribute":"region","op":"eq"}}`} {
			s.Admin.OK("POST", org+"/policies", object{"kind": "rls", "tableFqn": "lake.sandbox." + name, "columnName": "region",
				"definition": harness.Definition(definition)})
		}
	}
	for _, c := range []*harness.Client{editor, viewer} {
		for _, ask := range []harness.Ask{
			{Method: "GET"}, {Method: "GET", Path: "/rows"}, {Method: "GET", Path: "/details"}, {Method: "GET", Path: "/columns"},
			{Method: "GET", Path: "/history"},
			{Method: "POST", Path: "/rows?dry_run=true", Body: harness.RowsOf(object{"id": 9, "region": "eu"})},
			{Method: "POST", Path: "/rows/update?dry_run=true", Body: object{"where": "id < 9", "set": object{"id": "id + 10"}}},
			{Method: "POST", Path: "/rows/delete?dry_run=true", Body: object{"where": "TRUE"}},
			{Method: "POST", Path: "/optimize"}, {Method: "DELETE"},
		} {
			var first harness.Answer
			for i, name := range []string{"w0", "w1"} {
				one := ask
				one.Path = path(name) + ask.Path
				got, err := c.Answer(0, one)
				require.NoError(t, err)
				got = masked(got)
				got.Body = times.ReplaceAllString(uuids.ReplaceAllString(strings.ReplaceAll(got.Body, name, "w"), "id"), "time")
				if i == 0 {
					first = got
				}
				require.Equal(t, first, got, "%s", one)
				require.NotContains(t, got.Body, harness.Canary)
			}
		}
	}
	require.Equal(t, list{list{3.0}}, s.Admin.Rows("SELECT count(*) FROM sandbox.w1"))
	s.Admin.OK("PATCH", org+"/config", object{"sandbox_enabled": false})
	w.same(asks, callers, never, answers())
}
