package worlds_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// TestLostConfigurationLooksLikeNone compares what a member learns of a configuration that
// was attached elsewhere, of one whose attach was undone, of one that was never shared, and
// of one that never existed. The member is a builder, so that no request is refused for a
// scope.
func TestLostConfigurationLooksLikeNone(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	member := s.Member("member@acme.example", "builder", nil)
	spaces := "/v1/organisations/" + s.Boot.OrganisationID + "/workspaces"
	one := s.Admin.OK("POST", spaces, map[string]any{"name": "one"})["id"].(string)
	two := s.Admin.OK("POST", spaces, map[string]any{"name": "two"})["id"].(string)
	s.Admin.OK("PUT", spaces+"/"+one+"/members/"+member.User, map[string]any{"role": "builder"})
	configure := func(name, workspace string) string {
		harness.WriteTable(t, filepath.Join(s.Config.LocalRoots[0], name, "t"), `SELECT 7 AS id`, nil, column{"id", "long"})
		body := map[string]any{"configName": name, "kind": "local", "root": name}
		if workspace != "" {
			body["workspaceId"] = workspace
		}
		return s.Admin.OK("POST", harness.ConfigsPath, body)["configId"].(string)
	}
	attach := func(id, workspace string) {
		s.Admin.OK("POST", harness.ConfigsPath+"/"+id+"/attach", map[string]any{"workspaceId": workspace})
	}
	moved, undone := configure("moved", one), configure("undone", "")
	attach(undone, one)
	schema := func(id string) string { return "cfg_" + strings.ReplaceAll(id, "-", "") }
	for _, id := range []string{moved, undone} {
		require.Equal(t, 200, member.Query("SELECT * FROM "+schema(id)+".t").Status)
		// The member is an attacher of it, too.
		member.OK("POST", harness.ConfigsPath+"/"+id+"/attach", map[string]any{"workspaceId": s.Boot.WorkspaceID})
		member.OK("POST", harness.ConfigsPath+"/"+id+"/promote-undo", nil)
	}
	attach(moved, two)
	attach(undone, two)
	s.Admin.OK("POST", harness.ConfigsPath+"/"+undone+"/promote-undo", nil)
	attach(undone, two)
	hidden := configure("hidden", two)

	asks := func(id string) []harness.Ask {
		config, table := harness.ConfigsPath+"/"+id, "/v1/tables/lake/"+schema(id)+"/t"
		query := func(sql string) harness.Ask {
			return harness.Ask{Method: "POST", Path: "/v1/query", Body: map[string]any{"sql": sql}}
		}
		return []harness.Ask{
			{Method: "GET", Path: config},
			{Method: "PATCH", Path: config, Body: map[string]any{"configName": "x"}},
			{Method: "DELETE", Path: config},
			{Method: "POST", Path: config + "/attach", Body: map[string]any{"workspaceId": one}},
			{Method: "POST", Path: config + "/attach", Body: map[string]any{"workspaceId": two}},
			{Method: "POST", Path: config + "/attach", Body: map[string]any{"workspaceId": s.Boot.WorkspaceID}},
			{Method: "POST", Path: config + "/promote-undo"},
			{Method: "POST", Path: config + "/take-over"},
			{Method: "POST", Path: config + "/validate"},
			{Method: "POST", Path: config + "/discover"},
			{Method: "PUT", Path: config + "/credentials/s3", Body: map[string]any{"accessKeyId": "x", "secretAccessKey": "y"}},
			{Method: "GET", Path: table},
			{Method: "GET", Path: table + "/rows"},
			{Method: "GET", Path: table + "/history"},
			{Method: "POST", Path: table + "/rows", Body: harness.RowsOf(map[string]any{"id": 1})},
			{Method: "POST", Path: "/v1/tables", Body: map[string]any{"catalog": "lake", "schema": schema(id), "name": "t",
				"columns": []any{map[string]any{"name": "id", "type": "long"}}}},
			query("SELECT * FROM " + schema(id) + ".t"),
			query("SELECT * FROM information_schema.tables WHERE table_schema = '" + schema(id) + "'"),
			{Method: "GET", Path: harness.ConfigsPath},
			{Method: "GET", Path: "/v1/tables"},
			{Method: "POST", Path: "/v1/storages/move", Body: map[string]any{
				"sourceConfigId": id, "sourcePath": "t", "destinationConfigId": id, "destinationPath": "u"}},
		}
	}
	answers := func(id string) []harness.Answer {
		var out []harness.Answer
		for i, ask := range asks(id) {
			a, err := member.Answer(i, ask)
			require.NoError(t, err)
			for _, name := range []string{id, schema(id)} {
				a.Body = strings.ReplaceAll(a.Body, name, "<config>")
			}
			out = append(out, a)
		}
		return out
	}
	never := answers(harness.MissingID)
	for i, ask := range asks(harness.MissingID)[:16] {
		require.Contains(t, []int{404, 422}, never[i].Status, "%s: %s", ask, never[i].Body)
	}
	for name, id := range map[string]string{"moved": moved, "undone": undone, "hidden": hidden} {
		for i, got := range answers(id) {
			ask := asks(id)[i]
			require.Equal(t, never[i].Status, got.Status, "%s: %s: %s", name, ask, got.Body)
			require.Equal(t, never[i].Body, got.Body, "%s: %s", name, ask)
			require.True(t, equalHeaders(never[i].Header, got.Header), "%s: %s: %v %v", name, ask, never[i].Header, got.Header)
		}
	}
}
