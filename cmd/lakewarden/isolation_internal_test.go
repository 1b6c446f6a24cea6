package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/objstore/s3test"
)

// TestAServerWithoutWorkersReadsNoRemoteLog: the engine's reader of remote logs
// can end its process, so only a process of its own may hold it.
func TestAServerWithoutWorkersReadsNoRemoteLog(t *testing.T) {
	store := s3test.Start(t)
	bucket := store.Bucket(t)
	writeTable(t, filepath.Join(store.Folder(bucket), "flat"), `SELECT 1 AS id`, nil, column{"id", "long"})
	unlist(t, writeTable(t, filepath.Join(store.Folder(bucket), "unlisted"), `SELECT 1 AS id`, nil, column{"id", "long"}))
	for _, isolation := range []string{isolationNone, isolationProcess} {
		s := startServer(t, func(c *Config) { c.AllowPrivateEndpoints, c.Isolation = true, isolation })
		schema := s.admin.ok("POST", configsPath, s3Body(store, bucket, map[string]any{"workspaceId": s.boot.WorkspaceID}))["schema"].(string)
		s.admin.ok("POST", "/v1/organisations/"+s.boot.OrganisationID+"/policies", map[string]any{
			"kind": "rls", "tableFqn": "lake." + schema + ".unlisted", "columnName": "id", "definition": definition(`{"effect":"permit","subject":{"everyone":true},"condition":{"column":"id","op":"lt","value":7}}`),
		})
		require.Equal(t, 1.0, s.admin.count(schema+".flat"), isolation)
		for what, answered := range map[string]reply{
			"a query": s.admin.query("SELECT id FROM " + schema + ".unlisted LIMIT 1"),
			"a write": s.admin.call("POST", "/v1/tables/lake/"+schema+"/flat/rows/delete?dry_run=true", map[string]any{"where": "id IN (SELECT id FROM " + schema + ".unlisted)"}),
		} {
			if isolation == isolationProcess {
				require.Equal(t, 200, answered.status, "%s: %s", what, answered.body)
				continue
			}
			code, _ := answered.problem(t, 409)
			require.Equal(t, "isolation_required", code, what)
		}
		s.stop()
	}
}

// unlist gives the files of a table names that a reader of lists could take for
// patterns, so that it is read through its log.
func unlist(t *testing.T, dir string) {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(dir, "_delta_log", "*.json"))
	require.NoError(t, err)
	renamed := 0
	require.NoError(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		name := filepath.Base(path)
		if err != nil || filepath.Ext(name) != ".parquet" {
			return err
		}
		renamed++
		for _, log := range logs {
			content, err := os.ReadFile(log)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(log, bytes.ReplaceAll(content, []byte(name), []byte("%5B"+name)), 0o600))
		}
		return os.Rename(path, filepath.Join(filepath.Dir(path), "["+name))
	}))
	require.Positive(t, renamed)
}
