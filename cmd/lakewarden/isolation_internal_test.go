package main

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/lakewarden/config"
	"github.com/lakewarden/lakewarden/engine/objstore/s3test"
)

// TestAServerWithoutWorkersReadsNoRemoteLog: the engine's reader of remote logs
// can end its process, so only a process of its own may hold it.
func TestAServerWithoutWorkersReadsNoRemoteLog(t *testing.T) {
	store := s3test.Start(t)
	bucket := store.Bucket(t)
	writeTable(t, filepath.Join(store.Folder(bucket), "flat"), `SELECT 1 AS id`, nil, column{"id", "long"})
	writeTable(t, filepath.Join(store.Folder(bucket), "unlisted"), `SELECT 1 AS id, [1] AS l`, nil, column{"id", "long"}, column{"l", "array<integer>"})
	for _, isolation := range []string{config.IsolationNone, config.IsolationProcess} {
		s := startServer(t, func(c *settings) {
			c.AllowPrivateEndpoints, c.Isolation, c.ReadLog = true, isolation, readLogOf("unlisted")
		})
		schema := s.admin.ok("POST", configsPath, s3Body(store, bucket, map[string]any{"workspaceId": s.boot.WorkspaceID}))["schema"].(string)
		s.admin.ok("POST", "/v1/organisations/"+s.boot.OrganisationID+"/policies", map[string]any{
			"kind": "rls", "tableFqn": "lake." + schema + ".unlisted", "columnName": "id", "definition": definition(`{"effect":"permit","subject":{"everyone":true},"condition":{"column":"id","op":"lt","value":7}}`),
		})
		require.Equal(t, 1.0, s.admin.count(schema+".flat"), isolation)
		for what, answered := range map[string]reply{
			"a query": s.admin.query("SELECT id FROM " + schema + ".unlisted LIMIT 1"),
			"a write": s.admin.call("POST", "/v1/tables/lake/"+schema+"/flat/rows/delete?dry_run=true", map[string]any{"where": "id IN (SELECT id FROM " + schema + ".unlisted)"}),
		} {
			if isolation == config.IsolationProcess {
				require.Equal(t, 200, answered.status, "%s: %s", what, answered.body)
				continue
			}
			code, _ := answered.problem(t, 409)
			require.Equal(t, "isolation_required", code, what)
		}
		s.stop()
	}
}
