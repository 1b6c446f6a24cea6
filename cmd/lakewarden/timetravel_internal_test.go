package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/objstore/file"
)

// TestAnOldVersionDoesNotShakeOffAPolicy adds a column and then filters every
// table by it: the version before has no such column, and so nothing to show.
func TestAnOldVersionDoesNotShakeOffAPolicy(t *testing.T) {
	s := startServer(t, nil)
	dir := s.table("notes", `SELECT i AS id FROM range(10) t(i)`, nil, column{"id", "long"})
	bucket, err := file.New(dir)
	require.NoError(t, err)
	snap, err := delta.Load(context.Background(), bucket, delta.Options{})
	require.NoError(t, err)
	old := snap.Version()
	schema := snap.Schema()
	schema.Fields = append(schema.Fields[:1:1], delta.Field{Name: "tenant", Type: delta.String, Nullable: true})
	meta := snap.Metadata()
	meta.SchemaString, err = schema.JSON()
	require.NoError(t, err)
	txn := snap.Begin(delta.Operation{Name: "ADD COLUMNS"})
	txn.SetMetadata(meta)
	_, err = txn.Commit(context.Background())
	require.NoError(t, err)

	count := func(version int64) any {
		return s.admin.rows(fmt.Sprintf("SELECT count(*) FROM %s.notes AT (VERSION => %d)", s.schema, version))[0].([]any)[0]
	}
	require.Equal(t, 10.0, count(old))
	s.policy("", "tenant", `{"effect":"permit","subject":{"everyone":true},"condition":{"op":"eq","value":"a"}}`)
	require.Equal(t, 0.0, count(old), "the old version")
	require.Equal(t, 0.0, count(old+1), "the newest version")
}

// TestNothingOfAPolicyIsClearedByAccident: what only PUT can clear stays.
func TestNothingOfAPolicyIsClearedByAccident(t *testing.T) {
	s := startServer(t, nil)
	s.table("sales", `SELECT i AS id FROM range(3) t(i)`, nil, column{"id", "long"})
	p := s.policy("sales", "id", `{"effect":"permit","subject":{"everyone":true},"condition":{"op":"gt","value":1}}`)
	path := "/v1/organisations/" + s.boot.OrganisationID + "/policies/" + p["id"].(string)
	for _, field := range []string{"tableFqn", "tableId", "columnName", "policyText", "definition"} {
		values := []any{nil, ""}
		if field == "definition" {
			values = values[:1]
		}
		for _, value := range values {
			_, fields := s.admin.call("PATCH", path, map[string]any{field: value, "expectedVersion": 1}).problem(t, http.StatusUnprocessableEntity)
			require.Equal(t, []string{field}, fields, "%v", value)
		}
	}
	require.Equal(t, p["tableId"], s.admin.ok("GET", path, nil)["tableId"])
	_, fields := s.admin.call("POST", "/v1/organisations/"+s.boot.OrganisationID+"/policies",
		map[string]any{"tableFqn": "", "kind": "rls", "policyText": "permit (principal, action, resource);"}).problem(t, http.StatusUnprocessableEntity)
	require.Equal(t, []string{"tableFqn"}, fields)
}

// TestTheLastLineSaysWhatBrokeAResultOff reads over a real connection: the line
// must not die in a buffer when the connection is cut.
func TestTheLastLineSaysWhatBrokeAResultOff(t *testing.T) {
	s := startServer(t, nil)
	body := `{"sql":"SELECT i, CAST(CASE WHEN i = 900000 THEN 'x' ELSE '1' END AS INTEGER) AS c, repeat('y', 50) AS pad FROM range(1000000) t(i)"}`
	req, err := http.NewRequest(http.MethodPost, s.url+"/v1/query", strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+s.admin.key)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/x-ndjson")
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	require.Equal(t, http.StatusOK, resp.StatusCode)
	last := ""
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		last = lines.Text()
	}
	require.Error(t, lines.Err(), "the connection is cut: no reader takes this for the end")
	var failed struct{ Error struct{ Code string } }
	require.NoError(t, json.Unmarshal([]byte(last), &failed), last)
	require.Equal(t, "value_error", failed.Error.Code)
}

// TestAVacuumedVersionIsNoBrokenTable: who reads a former version is told why its
// files are gone; one of the newest version that is gone is a defect.
func TestAVacuumedVersionIsNoBrokenTable(t *testing.T) {
	s := startServer(t, nil)
	path := s.create("t", nil, col("id", "long"))
	s.admin.write(path+"/rows", rowsOf(object{"id": 1}))
	former := s.admin.version(path)
	s.admin.write(path+"/rows/update", object{"where": "true", "set": object{"id": "id + 1"}})
	s.admin.ok("POST", path+"/vacuum", object{"retention_hours": 0, "enforce_retention_duration": false})
	told := func(sql string) string {
		r := s.admin.query(sql)
		code, _ := r.problem(t, http.StatusConflict)
		require.Equal(t, "data_file_missing", code)
		require.NotContains(t, string(r.body), "repair")
		return string(r.body)
	}
	require.Contains(t, told(fmt.Sprintf("SELECT * FROM %s.t AT (VERSION => %v)", s.schema, former)), "vacuum")
	require.Contains(t, told(fmt.Sprintf("SELECT n.id FROM %s.t n, (SELECT id FROM %[1]s.t AT (VERSION => %v)) o", s.schema, former)), "vacuum")
	s.policy("t", "id", `{"effect":"permit","subject":{"everyone":true},"condition":{"op":"gt","value":0}}`)
	require.Contains(t, told(fmt.Sprintf("SELECT upper(id::VARCHAR) FROM %s.t AT (VERSION => %v)", s.schema, former)), "vacuum")

	files, err := filepath.Glob(filepath.Join(s.root, "t", "*.parquet"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	require.NoError(t, os.Remove(files[0]))
	require.NotContains(t, told(fmt.Sprintf("SELECT * FROM %s.t", s.schema)), "vacuum")
}
