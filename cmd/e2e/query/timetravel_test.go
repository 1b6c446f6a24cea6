package query_test

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
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/delta/logpath"
	"github.com/lakewarden/lakewarden/engine/objstore/file"
)

// TestHistoricalVersionsKeepPolicies adds a column and then filters every
// table by it: the version before has no such column, and so nothing to show.
func TestHistoricalVersionsKeepPolicies(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	dir := s.Table("notes", `SELECT i AS id FROM range(10) t(i)`, nil, column{"id", "long"})
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
		return s.Admin.Rows(fmt.Sprintf("SELECT count(*) FROM %s.notes AT (VERSION => %d)", s.Schema, version))[0].([]any)[0]
	}
	require.Equal(t, 10.0, count(old))
	s.Policy("", "tenant", `{"effect":"permit","subject":{"everyone":true},"condition":{"op":"eq","value":"a"}}`)
	require.Equal(t, 0.0, count(old), "the old version")
	require.Equal(t, 0.0, count(old+1), "the newest version")
}

// TestPatchClearsNoPartOfAPolicy checks that only PUT clears members of a policy.
func TestPatchClearsNoPartOfAPolicy(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	s.Table("sales", `SELECT i AS id FROM range(3) t(i)`, nil, column{"id", "long"})
	p := s.Policy("sales", "id", `{"effect":"permit","subject":{"everyone":true},"condition":{"op":"gt","value":1}}`)
	path := "/v1/organisations/" + s.Boot.OrganisationID + "/policies/" + p["id"].(string)
	for _, field := range []string{"tableFqn", "tableId", "columnName", "policyText", "definition"} {
		values := []any{nil, ""}
		if field == "definition" {
			values = values[:1]
		}
		for _, value := range values {
			_, fields := s.Admin.Call("PATCH", path, map[string]any{field: value, "expectedVersion": 1}).Problem(t, http.StatusUnprocessableEntity)
			require.Equal(t, []string{field}, fields, "%v", value)
		}
	}
	require.Equal(t, p["tableId"], s.Admin.OK("GET", path, nil)["tableId"])
	_, fields := s.Admin.Call("POST", "/v1/organisations/"+s.Boot.OrganisationID+"/policies",
		map[string]any{"tableFqn": "", "kind": "rls", "policyText": "permit (principal, action, resource);"}).Problem(t,
		http.StatusUnprocessableEntity)
	require.Equal(t, []string{"tableFqn"}, fields)
}

// TestTheLastLineSaysWhatBrokeAResultOff reads over a real connection: the line
// must not die in a buffer when the connection is cut.
func TestTheLastLineSaysWhatBrokeAResultOff(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, nil)
	body := `{"sql":"SELECT i, CAST(CASE WHEN i = 900000 THEN 'x' ELSE '1' END AS INTEGER) AS c, repeat('y', 50) AS pad FROM range(1000000) t(i)"}`
	req, err := http.NewRequest(http.MethodPost, s.URL+"/v1/query", strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+s.Admin.Key)
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

// TestVacuumedVersionIsReportedAsVacuumed checks that a statement about a historical
// version whose files a vacuum deleted gets this reason, while a missing file of the
// newest version is reported as a defect.
func TestVacuumedVersionIsReportedAsVacuumed(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	path := s.Create("t", nil, harness.Col("id", "long"))
	s.Admin.Write(path+"/rows", harness.RowsOf(object{"id": 1}))
	former := s.Admin.Version(path)
	s.Admin.Write(path+"/rows/update", object{"where": "true", "set": object{"id": "id + 1"}})
	s.Admin.OK("POST", path+"/vacuum", object{"retention_hours": 0, "enforce_retention_duration": false})
	told := func(sql string) string {
		r := s.Admin.Query(sql)
		code, _ := r.Problem(t, http.StatusConflict)
		require.Equal(t, "data_file_missing", code)
		require.NotContains(t, string(r.Body), "repair")
		return string(r.Body)
	}
	require.Contains(t, told(fmt.Sprintf("SELECT * FROM %s.t AT (VERSION => %v)", s.Schema, former)), "vacuum")
	require.Contains(t, told(fmt.Sprintf("SELECT n.id FROM %s.t n, (SELECT id FROM %[1]s.t AT (VERSION => %v)) o", s.Schema, former)),
		"vacuum")
	s.Policy("t", "id", `{"effect":"permit","subject":{"everyone":true},"condition":{"op":"gt","value":0}}`)
	require.Contains(t, told(fmt.Sprintf("SELECT upper(id::VARCHAR) FROM %s.t AT (VERSION => %v)", s.Schema, former)), "vacuum")

	files, err := filepath.Glob(filepath.Join(s.Root, "t", "*.parquet"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	require.NoError(t, os.Remove(files[0]))
	require.NotContains(t, told(fmt.Sprintf("SELECT * FROM %s.t", s.Schema)), "vacuum")
}

// TestTimeTravelUsesTheTimesOfTheHistory checks that a time of the history selects the
// same version in SQL, in a restore and in the details of a table, also if the store's
// clock goes back and forth and in-commit timestamps begin at a later version.
func TestTimeTravelUsesTheTimesOfTheHistory(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	path := s.Create("t", nil, harness.Col("id", "long"))
	for i := range 3 {
		s.Admin.Write(path+"/rows", harness.RowsOf(object{"id": i}))
	}
	s.Admin.OK("PATCH", path+"/properties", object{"set": object{"delta.enableInCommitTimestamps": "true"}})
	s.Admin.Write(path+"/rows", harness.RowsOf(object{"id": 3}))
	counts := []float64{0, 1, 2, 3, 3, 4}
	at := time.Date(2024, 5, 1, 0, 0, 0, 0, time.UTC)
	for v, moved := range []time.Duration{time.Hour, 3*time.Hour + 1500*time.Microsecond, time.Hour, 876000 * time.Hour, 0, 0} {
		name := filepath.Join(s.Root, "t", logpath.CommitName(int64(v)))
		require.NoError(t, os.Chtimes(name, at.Add(moved), at.Add(moved)))
	}
	history := s.Admin.OK("GET", path+"/history", nil)["versions"].([]any)
	require.Len(t, history, len(counts))
	var times []string
	for i := range history {
		entry := history[len(history)-1-i].(object)
		require.Equal(t, float64(i), entry["version"])
		times = append(times, entry["timestamp"].(string))
		shown, err := time.Parse(time.RFC3339Nano, times[i])
		require.NoError(t, err)
		for _, text := range []string{times[i], shown.Format("2006-01-02 15:04:05.999999")} {
			require.Equal(t, counts[i], s.Admin.Rows(fmt.Sprintf("SELECT count(*) FROM %s.t AT (TIMESTAMP => '%s')", s.Schema, text))[0].(list)[0],
				"version %d at %s", i, text)
		}
	}
	require.Equal(t, times[len(times)-1], s.Admin.OK("GET", path+"/details", nil)["versionAt"])
	require.Equal(t, "2024-05-01T03:00:00.001Z", times[1])
	require.Equal(t, "2024-05-01T03:00:00.002Z", times[2])
	for i, text := range times {
		s.Admin.OK("POST", path+"/restore", object{"timestamp": text})
		require.Equal(t, counts[i], s.Admin.Count(s.Schema+".t"), "restored to version %d at %s", i, text)
	}
}
