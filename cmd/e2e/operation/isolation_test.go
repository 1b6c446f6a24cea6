package operation_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/config"
	"github.com/lakewarden/lakewarden/engine/objstore/s3test"
)

// TestServerWithoutWorkersReadsNoRemoteLog checks that only a worker process may use the
// engine's reader of remote logs, which can end its process.
func TestServerWithoutWorkersReadsNoRemoteLog(t *testing.T) {
	t.Parallel()
	store := s3test.Start(t)
	bucket := store.Bucket(t)
	harness.WriteTable(t, filepath.Join(store.Folder(bucket), "flat"), `SELECT 1 AS id`, nil, column{"id", "long"})
	harness.WriteTable(t, filepath.Join(store.Folder(bucket), "unlisted"), `SELECT 1 AS id, [1] AS l`, nil, column{"id", "long"},
		column{"l", "array<integer>"})
	for _, isolation := range []string{config.IsolationNone, config.IsolationProcess} {
		s := harness.Start(t, func(c *harness.Settings) {
			c.AllowPrivateEndpoints, c.Isolation, c.ReadLog = true, isolation, harness.ReadLogOf("unlisted")
		})
		schema := s.Admin.OK("POST", harness.ConfigsPath, harness.S3Body(store, bucket,
			map[string]any{"workspaceId": s.Boot.WorkspaceID}))["schema"].(string)
		s.Admin.OK("POST", "/v1/organisations/"+s.Boot.OrganisationID+"/policies", map[string]any{
			"kind": "rls", "tableFqn": "lake." + schema + ".unlisted", "columnName": "id",
			"definition": harness.Definition(`{"effect":"permit","subject":{"everyone":true},"condition":{"column":"id","op":"lt","value":7}}`),
		})
		require.Equal(t, 1.0, s.Admin.Count(schema+".flat"), isolation)
		for what, answered := range map[string]harness.Reply{
			"a query": s.Admin.Query("SELECT id FROM " + schema + ".unlisted LIMIT 1"),
			"a write": s.Admin.Call("POST", "/v1/tables/lake/"+schema+"/flat/rows/delete?dry_run=true",
				map[string]any{"where": "id IN (SELECT id FROM " + schema + ".unlisted)"}),
		} {
			if isolation == config.IsolationProcess {
				require.Equal(t, 200, answered.Status, "%s: %s", what, answered.Body)
				continue
			}
			code, _ := answered.Problem(t, 409)
			require.Equal(t, "isolation_required", code, what)
		}
		s.Stop()
	}
}
