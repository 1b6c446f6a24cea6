package query_test

import (
	"errors"
	"io/fs"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
	"github.com/lakewarden/lakewarden/engine/objstore/s3test"
)

func TestS3TablesAreQueriedUnderTheSameRules(t *testing.T) {
	store := s3test.Start(t)
	bucket := store.Bucket(t)
	harness.WriteRemote(t, store, "s3://"+bucket+"/orders")
	s := harness.StartS3Server(t)
	made := s.Admin.OK("POST", harness.ConfigsPath, harness.S3Body(store, bucket, map[string]any{"workspaceId": s.Boot.WorkspaceID}))
	table := made["schema"].(string) + ".orders"
	s.Table("names", `SELECT 1 AS id, 'one' AS name`, nil, column{"id", "long"}, column{"name", "string"})

	require.Equal(t, []any{[]any{0.0, "eu"}, []any{1.0, "eu"}, []any{2.0, "eu"}}, s.Admin.Rows("SELECT id, region FROM "+table+" ORDER BY id"))
	require.Equal(t, 1.0, s.Admin.Count(table+" AT (VERSION => 0)"))
	require.Equal(t, []any{[]any{"one"}}, s.Admin.Rows("SELECT name FROM "+table+" JOIN "+s.Schema+".names USING (id)"), "beside local tables")

	reader := s.Member("reader@acme.example", "viewer", map[string]string{"most": "1"})
	s.Admin.OK("POST", "/v1/organisations/"+s.Boot.OrganisationID+"/policies", map[string]any{
		"kind": "rls", "tableFqn": "lake." + table, "columnName": "id",
		"definition": map[string]any{"effect": "permit", "subject": map[string]any{"attribute": "most", "op": "lte"}, "condition": nil},
	})
	require.Equal(t, 2.0, reader.Count(table))
	require.Equal(t, []any{[]any{1.0}}, reader.Rows("SELECT id FROM "+table+" WHERE id >= 1"))
	r := reader.Query("SELECT sum(CAST(region || id AS INTEGER)) FROM " + table)
	require.Equal(t, 422, r.Status)
	require.NotContains(t, string(r.Body), "eu2")

	harness.WriteRemote(t, store, "s3://"+bucket+"/orders")
	require.Eventually(t, func() bool { return reader.Count(table) == 4.0 }, time.Minute, 100*time.Millisecond,
		"commits of others are seen within a second or so")

	// No engine holds the credential; that the search finds things is shown by
	// the server itself, which does.
	workers := harness.WorkerProcesses(t)
	require.NotEmpty(t, workers)
	require.True(t, harness.MemoryHolds(t, "self", s3test.SecretAccessKey))
	for _, pid := range workers {
		require.False(t, harness.MemoryHolds(t, pid, s3test.SecretAccessKey), "process %s", pid)
		environment, err := os.ReadFile("/proc/" + pid + "/environ")
		if errors.Is(err, fs.ErrNotExist) { // it has ended
			continue
		}
		require.NoError(t, err)
		require.Empty(t, environment)
	}
	require.Empty(t, harness.Leaked(t, s, s3test.SecretAccessKey))
}

func TestAStoreThatHangsIsA503AndOthersGoOn(t *testing.T) {
	t.Parallel()
	store := s3test.Start(t)
	bucket := store.Bucket(t)
	harness.WriteRemote(t, store, "s3://"+bucket+"/orders")
	proxy := store.Proxy(t)
	s := harness.StartImpatientS3Server(t)
	made := s.Admin.OK("POST", harness.ConfigsPath, harness.S3Body(store, bucket,
		map[string]any{"workspaceId": s.Boot.WorkspaceID, "endpoint": proxy.Endpoint}))
	table := made["schema"].(string) + ".orders"
	s.Table("names", `SELECT 1 AS id`, nil, column{"id", "long"})
	require.Equal(t, 3.0, s.Admin.Count(table))

	proxy.Disturb("timeout", false, map[string]any{"timeout": 0})
	// What is known of the log is believed for a second; then it is looked for.
	var hung harness.Reply
	require.Eventually(t, func() bool {
		hung = s.Admin.Query("SELECT count(*) FROM " + table)
		return hung.Status != 200
	}, time.Minute, 50*time.Millisecond)
	code, _ := hung.Problem(t, 503)
	require.Equal(t, "storage_unavailable", code)
	require.Equal(t, 1.0, s.Admin.Count(s.Schema+".names"))
	proxy.Heal()
	require.Eventually(t, func() bool { return s.Admin.Query("SELECT count(*) FROM "+table).Status == 200 }, time.Minute,
		100*time.Millisecond)
}
