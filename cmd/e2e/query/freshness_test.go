package query_test

import (
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog/catalogtest/pgtest"
	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
	"github.com/lakewarden/lakewarden/engine/objstore/s3test"
)

func TestStatementsBoundTheAgeOfRemoteLogs(t *testing.T) {
	t.Parallel()
	store := s3test.Start(t)
	bucket := store.Bucket(t)
	harness.WriteRemote(t, store, "s3://"+bucket+"/orders")
	s := harness.StartS3Server(t)
	made := s.Admin.OK("POST", harness.ConfigsPath, harness.S3Body(store, bucket, map[string]any{"workspaceId": s.Boot.WorkspaceID}))
	schema := made["schema"].(string)
	count := func(table string, staleness int) float64 {
		answer := s.Admin.OK("POST", "/v1/query", map[string]any{"sql": "SELECT count(*) FROM " + table, "max_staleness_ms": staleness})
		return answer["rows"].([]any)[0].([]any)[0].(float64)
	}
	page := func(staleness int) int {
		path := fmt.Sprintf("/v1/tables/lake/%s/orders/rows?select=id&where=%s&max_staleness_ms=%d", schema, url.QueryEscape("id >= 0"),
			staleness)
		return len(s.Admin.OK("GET", path, nil)["rows"].([]any))
	}
	const hour = 3_600_000
	require.Equal(t, 3.0, count(schema+".orders", 0))
	harness.WriteRemote(t, store, "s3://"+bucket+"/orders")
	require.Equal(t, 3.0, count(schema+".orders", hour), "what was seen within the hour will do")
	require.Equal(t, 3, page(hour))
	require.Equal(t, 6.0, count(schema+".orders", 0), "what is there now")
	require.Equal(t, 6.0, count(schema+".orders", hour), "never older than what was seen")
	harness.WriteRemote(t, store, "s3://"+bucket+"/orders")
	require.Equal(t, 6, page(hour))
	require.Equal(t, 9, page(0))

	stored := s.Admin.Await(s.Admin.Start("SELECT count(*) FROM "+schema+".orders", "max_staleness_ms", 0))
	rows := s.Admin.OK("GET", "/v1/operations/"+stored["id"].(string)+"/result", nil)["rows"]
	require.Equal(t, []any{[]any{9.0}}, rows)

	dir := s.Table("names", `SELECT 1 AS id`, nil, column{"id", "long"})
	require.Equal(t, 1.0, count(s.Schema+".names", hour))
	harness.AppendRows(t, dir, `SELECT 2 AS id`)
	require.Equal(t, 2.0, count(s.Schema+".names", hour), "a look at a local log costs nothing")

	for _, staleness := range []any{-1, hour + 1, 1.5, "0"} {
		for _, path := range []string{"/v1/query", "/v1/queries"} {
			_, fields := s.Admin.Call("POST", path, map[string]any{"sql": "SELECT 1", "max_staleness_ms": staleness}).Problem(t, 422)
			require.Equal(t, []string{"max_staleness_ms"}, fields, "%v", staleness)
		}
	}
	_, fields := s.Admin.Call("GET", "/v1/tables/lake/"+schema+"/orders/rows?max_staleness_ms=-1", nil).Problem(t, 422)
	require.Equal(t, []string{"max_staleness_ms"}, fields)
}

// TestStaleViewUncoversNoRenamedColumn has another writer give a column another name, and the policy
// follow it. A caller who accepts an old view of the table does not see the column under
// its old name.
func TestStaleViewUncoversNoRenamedColumn(t *testing.T) {
	t.Parallel()
	store := s3test.Start(t)
	bucket := store.Bucket(t)
	harness.WriteRemote(t, store, "s3://"+bucket+"/orders")
	s := harness.StartS3Server(t)
	schema := s.Admin.OK("POST", harness.ConfigsPath, harness.S3Body(store, bucket,
		map[string]any{"workspaceId": s.Boot.WorkspaceID}))["schema"].(string)
	ana := s.Member("ana@acme.example", "viewer", nil)
	columns := func() string {
		answer := ana.OK("POST", "/v1/query", map[string]any{"sql": "SELECT * FROM " + schema + ".orders LIMIT 1", "max_staleness_ms": 3_600_000})
		return fmt.Sprint(answer["rows"])
	}
	rule := s.Rule("cls", "", "region", harness.ViewersNot)
	require.NotContains(t, columns(), "eu")
	harness.DeltaPython(t)(`
import sys, pyarrow as pa, deltalake
uri, endpoint, key, secret = sys.argv[1:]
options = {"AWS_ENDPOINT_URL": endpoint, "AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": secret, "AWS_REGION": "us-east-1",
           "AWS_ALLOW_HTTP": "true", "aws_conditional_put": "etag"}
deltalake.write_deltalake(uri, pa.table({"area": pa.array(["now"]), "id": pa.array([77], pa.int64())}), mode="overwrite", schema_mode="overwrite", storage_options=options)
`, "s3://"+bucket+"/orders", store.Endpoint, s3test.AccessKeyID, s3test.SecretAccessKey)
	s.Rule("cls", "", "area", harness.ViewersNot)
	s.Admin.OK("DELETE", "/v1/organisations/"+s.Boot.OrganisationID+"/policies/"+rule["id"].(string)+"?expectedVersion=1", nil)
	require.Eventually(t, func() bool { return columns() == "[[77]]" }, time.Minute, 50*time.Millisecond)
}

// TestReplicasAnnounceCommits checks that a server sees the commits of another one to a
// remote table without reading the log for every statement.
func TestReplicasAnnounceCommits(t *testing.T) {
	t.Parallel()
	store := s3test.Start(t)
	bucket, database := store.Bucket(t), pgtest.URL(t)
	harness.WriteRemote(t, store, "s3://"+bucket+"/orders")
	s := harness.Start(t, func(c *harness.Settings) { c.DatabaseURL, c.AllowPrivateEndpoints = database, true })
	twin := &harness.Server{T: t, Config: s.Config, Log: s.Log}
	twin.Config.DataDir = t.TempDir() // its own files, the same keys
	twin.Start()
	there := twin.Client(s.Admin.Key, s.Admin.User)
	made := s.Admin.OK("POST", harness.ConfigsPath, harness.S3Body(store, bucket, map[string]any{"workspaceId": s.Boot.WorkspaceID}))
	table := made["schema"].(string) + ".orders"
	count := func() float64 {
		answer := there.OK("POST", "/v1/query", map[string]any{"sql": "SELECT count(*) FROM " + table, "max_staleness_ms": 3_600_000})
		return answer["rows"].([]any)[0].([]any)[0].(float64)
	}
	want := 3.0
	require.Equal(t, want, count())
	for range 3 {
		s.Admin.OK("POST", "/v1/tables/lake/"+made["schema"].(string)+"/orders/rows",
			map[string]any{"rows": []any{map[string]any{"id": 7, "region": "eu"}}})
		want++
		require.Eventually(t, func() bool { return count() == want }, time.Minute, 5*time.Millisecond)
	}
	harness.WriteRemote(t, store, "s3://"+bucket+"/orders")
	require.Equal(t, want, count(), "of what others commit nobody is told")
	s.Admin.OK("POST", "/v1/tables/lake/"+made["schema"].(string)+"/orders/columns", map[string]any{"name": "late", "type": "long"})
	require.Eventually(t, func() bool { return there.Query("SELECT late FROM "+table).Status == 200 }, time.Minute, 5*time.Millisecond)
}
