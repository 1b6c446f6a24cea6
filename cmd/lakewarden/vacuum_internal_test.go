package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
)

// aged makes a file below a directory, as old as many hours.
func aged(t *testing.T, dir, name string, hours int) {
	t.Helper()
	full := filepath.Join(dir, filepath.FromSlash(name))
	require.NoError(t, os.MkdirAll(filepath.Dir(full), 0o755))
	require.NoError(t, os.WriteFile(full, []byte("x"), 0o644))
	at := time.Now().Add(-time.Duration(hours) * time.Hour)
	require.NoError(t, os.Chtimes(full, at, at))
}

func TestVacuum(t *testing.T) {
	s := startServer(t, nil)
	dir := s.table("t", "SELECT i AS id FROM range(10) t(i)", nil, column{"id", "long"})
	aged(t, dir, "old/orphan.parquet", 200)
	aged(t, dir, "new.parquet", 100)
	path := s.tablePath("t") + "/vacuum"

	require.Equal(t, map[string]any{"dryRun": true, "filesDeleted": []any{"old/orphan.parquet"}, "count": 1.0}, s.admin.ok("POST", path, map[string]any{"dry_run": true}))
	require.FileExists(t, filepath.Join(dir, "old/orphan.parquet"))
	require.Equal(t, map[string]any{"dryRun": false, "filesDeleted": []any{"old/orphan.parquet"}, "count": 1.0}, s.admin.ok("POST", path, nil), "a body may be left out")
	require.NoDirExists(t, filepath.Join(dir, "old"))
	require.Equal(t, map[string]any{"dryRun": false, "filesDeleted": []any{}, "count": 0.0}, s.admin.ok("POST", path, map[string]any{}))

	// Less than the table's own retention takes insisting, and an administrator.
	short := map[string]any{"retention_hours": 24}
	_, fields := s.admin.call("POST", path, short).problem(t, 422)
	require.Equal(t, []string{"retention_hours"}, fields)
	short["enforce_retention_duration"] = false
	builder := s.member("builder@acme.example", "builder", nil)
	builder.call("POST", path, short).problem(t, 403)
	builder.ok("POST", path, map[string]any{"retention_hours": 168, "mode": "lite"})
	s.member("editor@acme.example", "editor", nil).call("POST", path, nil).problem(t, 403)
	for _, bad := range []map[string]any{{"retention_hours": -1}, {"mode": "most"}, {"retain": 1}} {
		s.admin.call("POST", path, bad).problem(t, 422)
	}
	s.admin.call("POST", s.tablePath("none")+"/vacuum", nil).problem(t, 404)

	// A write of ours under way keeps its files, whatever the retention.
	store, err := s.openCatalog(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	details := s.admin.ok("GET", s.tablePath("t"), nil)
	lease, err := store.BeginWrite(t.Context(), catalog.NewWrite{Org: catalog.OrgID(s.boot.OrganisationID), Table: catalog.DeltaID(details["tableId"].(string)), Kind: catalog.WriteRows})
	require.NoError(t, err)
	aged(t, dir, "written.parquet", 0)
	short["retention_hours"] = 0
	require.Equal(t, []any{"new.parquet"}, s.admin.ok("POST", path, short)["filesDeleted"])
	require.NoError(t, store.EndWrite(t.Context(), lease))

	// The same as an operation.
	r := s.admin.call("POST", path, short, "Prefer", "respond-async")
	require.Equal(t, 202, r.status, "%s", r.body)
	o := s.admin.await(r.json(t))
	require.Equal(t, "succeeded", o["state"], "%v", o)
	require.Equal(t, "vacuum", o["kind"])
	require.Equal(t, map[string]any{"dryRun": false, "filesDeleted": []any{"written.parquet"}, "count": 1.0}, o["result"])
	require.Equal(t, "files", o["progress"].(map[string]any)["unit"])
	require.Equal(t, 10.0, s.admin.count(s.schema+".t"))
	metrics := string(s.admin.call("GET", "/metrics", nil).body)
	require.Contains(t, metrics, `lakewarden_maintenance_files_total{change="removed",op="vacuum"} 3`)
	operations := []string{}
	for _, v := range s.admin.ok("GET", s.tablePath("t")+"/history", nil)["versions"].([]any) {
		operations = append(operations, v.(map[string]any)["operation"].(string))
	}
	require.Contains(t, strings.Join(operations, ","), "VACUUM END,VACUUM START")
}

// TestVacuumTellsNothingOfHiddenRows: names and numbers of files follow from rows
// that the caller does not see.
func TestVacuumTellsNothingOfHiddenRows(t *testing.T) {
	s := startServer(t, nil)
	dir := s.table("t", "SELECT i AS id FROM range(10) t(i)", nil, column{"id", "long"})
	s.policy("t", "", `{"effect":"permit","subject":{"everyone":true},"condition":{"column":"id","op":"lt","value":3}}`)
	aged(t, dir, "region=secret/x.parquet", 200)
	builder := s.member("builder@acme.example", "builder", nil)
	nothing := map[string]any{"dryRun": true, "filesDeleted": []any{}, "count": nil}
	require.Equal(t, nothing, builder.ok("POST", s.tablePath("t")+"/vacuum", map[string]any{"dry_run": true}))
	o := builder.await(builder.call("POST", s.tablePath("t")+"/vacuum", map[string]any{}, "Prefer", "respond-async").json(t))
	require.Equal(t, map[string]any{"dryRun": false, "filesDeleted": []any{}, "count": nil}, o["result"])
	require.Equal(t, map[string]any{"done": 0.0, "total": nil, "unit": ""}, o["progress"])
	require.NoFileExists(t, filepath.Join(dir, "region=secret/x.parquet"))
}
