package main

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/objstore/s3test"
)

func TestS3TablesAreQueriedUnderTheSameRules(t *testing.T) {
	store := s3test.Start(t)
	bucket := store.Bucket(t)
	writeRemote(t, store, "s3://"+bucket+"/orders")
	s := startS3Server(t)
	made := s.admin.ok("POST", configsPath, s3Body(store, bucket, map[string]any{"workspaceId": s.boot.WorkspaceID}))
	table := made["schema"].(string) + ".orders"
	s.table("names", `SELECT 1 AS id, 'one' AS name`, nil, column{"id", "long"}, column{"name", "string"})

	require.Equal(t, []any{[]any{0.0, "eu"}, []any{1.0, "eu"}, []any{2.0, "eu"}}, s.admin.rows("SELECT id, region FROM "+table+" ORDER BY id"))
	require.Equal(t, 1.0, s.admin.count(table+" AT (VERSION => 0)"))
	require.Equal(t, []any{[]any{"one"}}, s.admin.rows("SELECT name FROM "+table+" JOIN "+s.schema+".names USING (id)"), "beside local tables")

	reader := s.member("reader@acme.example", "viewer", map[string]string{"most": "1"})
	s.admin.ok("POST", "/v1/organisations/"+s.boot.OrganisationID+"/policies", map[string]any{
		"kind": "rls", "tableFqn": "lake." + table, "columnName": "id",
		"definition": map[string]any{"effect": "permit", "subject": map[string]any{"attribute": "most", "op": "lte"}, "condition": nil},
	})
	require.Equal(t, 2.0, reader.count(table))
	require.Equal(t, []any{[]any{1.0}}, reader.rows("SELECT id FROM "+table+" WHERE id >= 1"))
	r := reader.query("SELECT sum(CAST(region || id AS INTEGER)) FROM " + table)
	require.Equal(t, 422, r.status)
	require.NotContains(t, string(r.body), "eu2")

	writeRemote(t, store, "s3://"+bucket+"/orders")
	require.Eventually(t, func() bool { return reader.count(table) == 4.0 }, 5*time.Second, 100*time.Millisecond, "commits of others are seen within a second or so")

	// No engine holds the credential; that the search finds things is shown by
	// the server itself, which does.
	workers := workerProcesses(t)
	require.NotEmpty(t, workers)
	require.True(t, memoryHolds(t, "self", s3test.SecretAccessKey))
	for _, pid := range workers {
		require.False(t, memoryHolds(t, pid, s3test.SecretAccessKey), "process %s", pid)
		environment, err := os.ReadFile("/proc/" + pid + "/environ")
		require.NoError(t, err)
		require.Empty(t, environment)
	}
	require.Empty(t, leaked(t, s, s3test.SecretAccessKey))
}

func TestAStoreThatHangsIsA503AndOthersGoOn(t *testing.T) {
	store := s3test.Start(t)
	bucket := store.Bucket(t)
	writeRemote(t, store, "s3://"+bucket+"/orders")
	proxy := store.Proxy(t)
	s := startS3Server(t)
	made := s.admin.ok("POST", configsPath, s3Body(store, bucket, map[string]any{"workspaceId": s.boot.WorkspaceID, "endpoint": proxy.Endpoint}))
	table := made["schema"].(string) + ".orders"
	s.table("names", `SELECT 1 AS id`, nil, column{"id", "long"})
	require.Equal(t, 3.0, s.admin.count(table))

	proxy.Disturb("timeout", false, map[string]any{"timeout": 0})
	// What is known of the log is believed for a second; then it is looked for.
	var hung reply
	require.Eventually(t, func() bool {
		hung = s.admin.query("SELECT count(*) FROM " + table)
		return hung.status != 200
	}, 20*time.Second, 50*time.Millisecond)
	code, _ := hung.problem(t, 503)
	require.Equal(t, "storage_unavailable", code)
	require.Equal(t, 1.0, s.admin.count(s.schema+".names"))
	proxy.Heal()
	require.Eventually(t, func() bool { return s.admin.query("SELECT count(*) FROM "+table).status == 200 }, 10*time.Second, 100*time.Millisecond)
}
