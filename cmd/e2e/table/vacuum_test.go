package table_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

func TestVacuum(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, nil)
	dir := s.Table("t", "SELECT i AS id FROM range(10) t(i)", nil, column{"id", "long"})
	harness.Aged(t, dir, "old/orphan.parquet", 200)
	harness.Aged(t, dir, "new.parquet", 100)
	path := s.TablePath("t") + "/vacuum"

	require.Equal(t, map[string]any{"dryRun": true, "filesDeleted": []any{"old/orphan.parquet"}, "count": 1.0},
		s.Admin.OK("POST", path, map[string]any{"dry_run": true}))
	require.FileExists(t, filepath.Join(dir, "old/orphan.parquet"))
	require.Equal(t, map[string]any{"dryRun": false, "filesDeleted": []any{"old/orphan.parquet"}, "count": 1.0}, s.Admin.OK("POST", path, nil),
		"a body may be left out")
	require.NoDirExists(t, filepath.Join(dir, "old"))
	require.Equal(t, map[string]any{"dryRun": false, "filesDeleted": []any{}, "count": 0.0}, s.Admin.OK("POST", path, map[string]any{}))

	// Less than the table's own retention takes insisting, and an administrator.
	short := map[string]any{"retention_hours": 24}
	_, fields := s.Admin.Call("POST", path, short).Problem(t, 422)
	require.Equal(t, []string{"retention_hours"}, fields)
	short["enforce_retention_duration"] = false
	builder := s.Member("builder@acme.example", "builder", nil)
	builder.Call("POST", path, short).Problem(t, 403)
	builder.OK("POST", path, map[string]any{"retention_hours": 168, "mode": "lite"})
	s.Member("editor@acme.example", "editor", nil).Call("POST", path, nil).Problem(t, 403)
	for _, bad := range []map[string]any{{"retention_hours": -1}, {"mode": "most"}, {"retain": 1}} {
		s.Admin.Call("POST", path, bad).Problem(t, 422)
	}
	s.Admin.Call("POST", s.TablePath("none")+"/vacuum", nil).Problem(t, 404)

	// A running write of the server keeps its files, whatever the retention.
	store, err := s.OpenCatalog(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	details := s.Admin.OK("GET", s.TablePath("t"), nil)
	lease, err := store.BeginWrite(t.Context(), catalog.NewWrite{Org: catalog.OrgID(s.Boot.OrganisationID),
		Table: catalog.DeltaID(details["tableId"].(string)), Kind: catalog.WriteRows})
	require.NoError(t, err)
	harness.Aged(t, dir, "written.parquet", 0)
	short["retention_hours"] = 0
	require.Equal(t, []any{"new.parquet"}, s.Admin.OK("POST", path, short)["filesDeleted"])
	require.NoError(t, store.EndWrite(t.Context(), lease))

	// The same as an operation.
	r := s.Admin.Call("POST", path, short, "Prefer", "respond-async")
	require.Equal(t, 202, r.Status, "%s", r.Body)
	o := s.Admin.Await(r.JSON(t))
	require.Equal(t, "succeeded", o["state"], "%v", o)
	require.Equal(t, "vacuum", o["kind"])
	require.Equal(t, map[string]any{"dryRun": false, "filesDeleted": []any{"written.parquet"}, "count": 1.0}, o["result"])
	require.Equal(t, "files", o["progress"].(map[string]any)["unit"])
	require.Equal(t, 10.0, s.Admin.Count(s.Schema+".t"))
	metrics := string(s.Admin.Call("GET", "/metrics", nil).Body)
	require.Contains(t, metrics, `lakewarden_maintenance_files_total{change="removed",op="vacuum"} 3`)
	operations := []string{}
	for _, v := range s.Admin.OK("GET", s.TablePath("t")+"/history", nil)["versions"].([]any) {
		operations = append(operations, v.(map[string]any)["operation"].(string))
	}
	require.Contains(t, strings.Join(operations, ","), "VACUUM END,VACUUM START")
}

// TestVacuumRevealsNothingAboutHiddenRows checks that filtered callers get neither names
// nor numbers of files, which depend on hidden rows.
func TestVacuumRevealsNothingAboutHiddenRows(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	dir := s.Table("t", "SELECT i AS id FROM range(10) t(i)", nil, column{"id", "long"})
	s.Policy("t", "", `{"effect":"permit","subject":{"everyone":true},"condition":{"column":"id","op":"lt","value":3}}`)
	harness.Aged(t, dir, "region=secret/x.parquet", 200)
	builder := s.Member("builder@acme.example", "builder", nil)
	nothing := map[string]any{"dryRun": true, "filesDeleted": []any{}, "count": nil}
	require.Equal(t, nothing, builder.OK("POST", s.TablePath("t")+"/vacuum", map[string]any{"dry_run": true}))
	o := builder.Await(builder.Call("POST", s.TablePath("t")+"/vacuum", map[string]any{}, "Prefer", "respond-async").JSON(t))
	require.Equal(t, map[string]any{"dryRun": false, "filesDeleted": []any{}, "count": nil}, o["result"])
	require.Equal(t, map[string]any{"done": 0.0, "total": nil, "unit": ""}, o["progress"])
	require.NoFileExists(t, filepath.Join(dir, "region=secret/x.parquet"))
}
