package worlds_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// TestMovesRevealNoHiddenRows compares what callers who see some rows, or all rows without one
// column, learn from moves of two tables that differ in what is hidden from them. The objects
// are counted for nobody who does not see all of every table.
func TestMovesRevealNoHiddenRows(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	ben := s.Member("ben@acme.example", "builder", map[string]string{"tenant": "a"})
	id := configOf(s)
	answers := map[string][]harness.Answer{}
	for name, hidden := range map[string]int{"still": 0, "busy": 50_000} {
		crowded(s, name, hidden)
		for _, path := range []string{name, name + "/", name + "/_delta_log", ""} {
			for _, dry := range []bool{true, false} {
				a, err := ben.Answer(0, harness.Ask{Method: "POST", Path: "/v1/storages/move", Body: object{
					"sourceConfigId": id, "sourcePath": path, "destinationConfigId": id, "destinationPath": "away-" + name, "dry_run": dry,
				}})
				require.NoError(t, err)
				require.NotEqual(t, 200, a.Status, "%s", a.Body)
				a.Body = strings.ReplaceAll(a.Body, name, "<table>")
				answers[name] = append(answers[name], a)
			}
		}
	}
	require.Equal(t, 403, answers["still"][0].Status, "%s", answers["still"][0].Body)
	for i, a := range answers["still"] {
		require.Equal(t, a.Status, answers["busy"][i].Status)
		require.Equal(t, a.Body, answers["busy"][i].Body)
	}
	// A dropped table is still governed, and its files would move.
	s.Admin.OK("DELETE", s.TablePath("busy"), nil)
	r := ben.Call("POST", "/v1/storages/move", object{
		"sourceConfigId": id, "sourcePath": "busy", "destinationConfigId": id, "destinationPath": "away", "dry_run": true,
	})
	require.Equal(t, 403, r.Status, "%s", r.Body)
	// The policies follow the table, and so does what ben sees.
	before := ben.Rows("SELECT id FROM " + s.Schema + ".still ORDER BY id")
	s.Admin.OK("POST", "/v1/storages/move", object{
		"sourceConfigId": id, "sourcePath": "still", "destinationConfigId": id, "destinationPath": "moved",
	})
	require.Equal(t, before, ben.Rows("SELECT id FROM "+s.Schema+".moved ORDER BY id"))
	require.Equal(t, list{}, ben.OK("GET", "/v1/operations", nil)["operations"])
}

// configOf returns the id of the server's own configuration.
func configOf(s *harness.Server) string {
	s.T.Helper()
	for _, c := range s.Admin.OK("GET", harness.ConfigsPath, nil)["configs"].([]any) {
		if c := c.(map[string]any); c["schema"] == s.Schema {
			return c["configId"].(string)
		}
	}
	require.Fail(s.T, "no configuration")
	return ""
}
