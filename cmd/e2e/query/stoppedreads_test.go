package query_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/config"
	"github.com/lakewarden/lakewarden/engine/objstore/s3test"
)

// TestStatementsThatStopOverARemoteLogEndNoProcess checks that a statement whose first rows make it
// fail, while the engine has not yet read the rest of a remote log, leaves its process alive.
// Without the gateway's help the process aborts in about one of ten tries.
func TestStatementsThatStopOverARemoteLogEndNoProcess(t *testing.T) {
	t.Parallel()
	store := s3test.Start(t)
	bucket := store.Bucket(t)
	dir := filepath.Join(store.Folder(bucket), "split")
	harness.WriteTable(t, dir, `SELECT range AS id, 'n' || range AS name FROM range(200)`, nil, column{"id", "long"}, column{"name", "string"})
	harness.AppendRows(t, dir, `SELECT range AS id, 'n' || range AS name FROM range(100)`)
	s := harness.Start(t, func(c *harness.Settings) {
		c.AllowPrivateEndpoints, c.Isolation, c.Threads, c.ReadLog = true, config.IsolationProcess, 1, harness.ReadLogOf("split")
	})
	schema := s.Admin.OK("POST", harness.ConfigsPath, harness.S3Body(store, bucket,
		map[string]any{"workspaceId": s.Boot.WorkspaceID}))["schema"].(string)
	failing := "WITH w AS (SELECT id, CAST([name] AS INT[]) AS e FROM " + schema + ".split) SELECT count(e), max(id) FROM w WHERE e IS NULL"
	for range 80 {
		code, _ := s.Admin.Query(failing).Problem(t, 422)
		require.Equal(t, "value_error", code)
	}
	require.NotContains(t, s.Log.String(), `"reason":"crash"`)
}
