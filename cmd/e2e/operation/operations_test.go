package operation_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/catalogtest/pgtest"
	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
	"github.com/lakewarden/lakewarden/engine/enginetest"
)

// slowQuery runs for long, and stops when it is asked to.
const slowQuery = "SELECT count(*) FROM range(100000000) a(i), range(100000000) b(j) WHERE i * j % 7 = 3"

// keptFiles are the files below the place of results.
func keptFiles(s *harness.Server) []string {
	files, err := filepath.Glob(filepath.Join(s.Config.DataDir, "results", "*", "*.arrow"))
	require.NoError(s.T, err)
	return files
}

func TestAQueryAsAnOperation(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	s.Table("types", harness.EveryType, nil, harness.EveryColumn...)
	sql := "SELECT * FROM " + s.Schema + ".types ORDER BY id"
	o := s.Admin.Await(s.Admin.Start(sql))
	require.Equal(t, "succeeded", o["state"], "%v", o)
	require.Equal(t, "query", o["kind"])
	require.Equal(t, s.Admin.User, o["userId"])
	require.Nil(t, o["error"])
	require.Equal(t, map[string]any{"done": 4.0, "total": nil, "unit": "rows"}, o["progress"])
	result := o["result"].(map[string]any)
	require.Equal(t, 4.0, result["rowCount"])
	require.Equal(t, false, result["truncated"])
	for _, at := range []string{"createdAt", "startedAt", "finishedAt", "expiresAt"} {
		require.NotEmpty(t, o[at], at)
	}
	// The stored rows equal those of the query in every format.
	for _, accept := range []string{harness.Ndjson, harness.CSVType, harness.ArrowType, harness.ParquetType} {
		direct := s.Admin.Call("POST", "/v1/query", map[string]any{"sql": sql}, "Accept", accept)
		kept := s.Admin.Result(o, "Accept", accept)
		require.Equal(t, 200, kept.Status, "%s", kept.Body)
		require.True(t, bytes.Equal(direct.Body, kept.Body), accept)
		require.Equal(t, direct.Header.Get("Content-Type"), kept.Header.Get("Content-Type"))
		require.Equal(t, result["queryId"], kept.Header.Get("X-Query-Id"))
	}
	require.Equal(t, s.Admin.Query(sql).JSON(t)["rows"], s.Admin.Result(o).JSON(t)["rows"])
	require.Contains(t, string(s.Admin.Call("GET", "/v1/operations/"+o["id"].(string)+"/result?integers=string", nil).Body),
		`"9223372036854775807"`)
	s.Admin.Result(o, "Accept", "image/png").Problem(t, 400)

	// Prefer on the query's own route is the same.
	r := s.Admin.Call("POST", "/v1/query", map[string]any{"sql": "SELECT 1 AS one"}, "Prefer", "handling=strict, Respond-Async;x=y, wait=10")
	require.Equal(t, http.StatusAccepted, r.Status, "%s", r.Body)
	require.Equal(t, "respond-async", r.Header.Get("Preference-Applied"))
	require.Contains(t, string(s.Admin.Result(s.Admin.Await(r.JSON(t))).Body), `"rows":[[1]]`)
	require.Equal(t, 200, s.Admin.Call("POST", "/v1/query", map[string]any{"sql": "SELECT 1"}, "Prefer", "return=minimal").Status)

	// No rows, many rows, cut rows.
	empty := s.Admin.Await(s.Admin.Start("SELECT 1 AS a, 'x' AS b WHERE false"))
	require.Contains(t, string(s.Admin.Result(empty).Body),
		`"columns":[{"name":"a","type":"INTEGER"},{"name":"b","type":"VARCHAR"}],"rows":[]`)
	many := s.Admin.Await(s.Admin.Start("SELECT i, 'row ' || i AS word FROM range(300000) t(i)"))
	require.Equal(t, 300000.0, many["result"].(map[string]any)["rowCount"])
	require.Equal(t, 300000, bytes.Count(s.Admin.Result(many, "Accept", harness.Ndjson).Body, []byte("\n")))
	require.Equal(t, true, s.Admin.Result(many).JSON(t)["truncated"], "JSON has its limits")
	cut := s.Admin.Await(s.Admin.Start("SELECT * FROM range(5000)", "row_limit", 10))
	require.Equal(t, true, cut["result"].(map[string]any)["truncated"])
	again := s.Admin.Result(cut).JSON(t)
	require.Len(t, again["rows"], 10)
	require.Equal(t, true, again["truncated"], "what was cut when it was kept is a part for ever")
	page := s.Admin.OK("GET", "/v1/operations?page_size=2", nil)
	require.Len(t, page["operations"], 2)
	require.Equal(t, cut["id"], page["operations"].([]any)[0].(map[string]any)["id"], "newest first")
	require.Len(t, s.Admin.OK("GET", "/v1/operations?page_token="+page["nextPageToken"].(string), nil)["operations"], 3)
}

func TestOperationsThatFail(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, func(c *harness.Settings) { c.ResultBytes, c.ResultsOrgBytes = 1, 2 })
	o := s.Admin.Await(s.Admin.Start("SELECT nope"))
	require.Equal(t, "failed", o["state"])
	direct := s.Admin.Query("SELECT nope").JSON(t)
	told := o["error"].(map[string]any)
	require.Equal(t, direct["code"], told["code"])
	require.Equal(t, direct["message"], told["message"])
	require.Equal(t, direct["details"], told["details"])
	code, _ := s.Admin.Result(o).Problem(t, 409)
	require.Equal(t, "operation_failed", code)
	o = s.Admin.Await(s.Admin.Start("SELECT (i - 100)::UTINYINT AS x FROM range(200) t(i)"))
	require.Equal(t, "value_error", o["error"].(map[string]any)["code"])
	o = s.Admin.Await(s.Admin.Start(slowQuery, "timeout_ms", 50))
	require.Equal(t, "query_timeout", o["error"].(map[string]any)["code"])
	s.Admin.Call("POST", "/v1/queries", map[string]any{"sql": "SELECT 1", "timeout_ms": 80_000_000}).Problem(t, 422)

	// A result may not grow without bounds, nor all of them together.
	big := "SELECT md5(i::VARCHAR) AS word FROM range(%d) t(i)"
	o = s.Admin.Await(s.Admin.Start(fmt.Sprintf(big, 1_000_000)))
	require.Equal(t, "result_too_large", o["error"].(map[string]any)["code"], "%v", o)
	var kept []map[string]any
	for range 5 { // each takes more than half a MiB
		if o = s.Admin.Await(s.Admin.Start(fmt.Sprintf(big, 20_000))); o["state"] == "succeeded" {
			kept = append(kept, o)
		}
	}
	require.Equal(t, "result_too_large", o["error"].(map[string]any)["code"])
	require.Len(t, kept, 2)
	s.Admin.OK("DELETE", "/v1/operations/"+kept[0]["id"].(string), nil)
	require.Equal(t, "succeeded", s.Admin.Await(s.Admin.Start(fmt.Sprintf(big, 20_000)))["state"], "there is room again")
	require.Empty(t, temporary(t, s), "nothing is left behind")
}

// TestConcurrentResultsStayWithinTheirLimit checks that space reserved for one result is
// not given to another one.
func TestConcurrentResultsStayWithinTheirLimit(t *testing.T) {
	s := harness.Start(t, func(c *harness.Settings) { c.ResultBytes, c.ResultsOrgBytes, c.MaxRunning = 1, 2, 16 })
	started := make([]map[string]any, 8)
	for i := range started {
		started[i] = s.Admin.Start("SELECT md5(i::VARCHAR) AS word FROM range(20000) t(i)")
	}
	total, kept := 0.0, 0
	for _, o := range started {
		switch o = s.Admin.Await(o); o["state"] {
		case "succeeded":
			total += o["result"].(map[string]any)["bytes"].(float64)
			kept++
		default:
			require.Equal(t, "result_too_large", o["error"].(map[string]any)["code"], "%v", o)
		}
	}
	require.LessOrEqual(t, total, float64(2<<20))
	require.Positive(t, kept)
	require.Len(t, keptFiles(s), kept)
	require.Equal(t, "succeeded", s.Admin.Await(s.Admin.Start("SELECT 1"))["state"], "what failed gives its room back")
}

// temporary are the files of results that are being written.
func temporary(t *testing.T, s *harness.Server) []string {
	files, err := filepath.Glob(filepath.Join(s.Config.DataDir, "tmp", "result-*"))
	require.NoError(t, err)
	return files
}

func TestOperationsBelongToTheirOwners(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, nil)
	ana, bob := s.Member("ana@acme.example", "editor", nil), s.Member("bob@acme.example", "editor", nil)
	o := ana.Await(ana.Start("SELECT 1"))
	path := "/v1/operations/" + o["id"].(string)
	for _, call := range []struct{ method, path string }{{"GET", path}, {"DELETE", path}, {"GET", path + "/result"}} {
		code, _ := bob.Call(call.method, call.path, nil).Problem(t, 404)
		require.Equal(t, "not_found", code)
	}
	require.Empty(t, bob.OK("GET", "/v1/operations", nil)["operations"])
	code, _ := bob.Call("GET", "/v1/operations?all=true", nil).Problem(t, 403)
	require.Equal(t, "insufficient_scope", code)
	require.Len(t, ana.OK("GET", "/v1/operations", nil)["operations"], 1)
	// An administrator sees the operation but not its rows, because the policies of another
	// member selected them.
	require.Len(t, s.Admin.OK("GET", "/v1/operations?all=true&kind=query&state=succeeded", nil)["operations"], 1)
	require.Empty(t, s.Admin.OK("GET", "/v1/operations?all=true&kind=move", nil)["operations"])
	require.Equal(t, "succeeded", s.Admin.OK("GET", path, nil)["state"])
	code, _ = s.Admin.Call("GET", path+"/result", nil).Problem(t, 403)
	require.Equal(t, "not_owner", code)
	// An administrator may end it.
	require.Len(t, keptFiles(s), 1)
	info, err := os.Stat(filepath.Join(s.Config.DataDir, "results"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	require.Nil(t, s.Admin.OK("DELETE", path, nil)["result"])
	require.Empty(t, keptFiles(s))
	ana.Result(o).Problem(t, 404)
	require.Equal(t, "succeeded", ana.OK("DELETE", path, nil)["state"], "again")
}

func TestCancelledOperations(t *testing.T) {
	s := harness.Shared(t)
	o := s.Admin.Start(slowQuery)
	s.Admin.InState(o, "running")
	code, _ := s.Admin.Result(o).Problem(t, 409)
	require.Equal(t, "operation_running", code)
	asked, stalls := time.Now(), enginetest.WatchStalls(0)
	s.Admin.OK("DELETE", "/v1/operations/"+o["id"].(string), nil)
	require.Equal(t, "cancelled", s.Admin.Await(o)["state"])
	require.Less(t, time.Since(asked)-stalls(), time.Second)
	require.Equal(t, "cancelled", s.Admin.OK("DELETE", "/v1/operations/"+o["id"].(string), nil)["state"], "idempotent")
	code, _ = s.Admin.Result(o).Problem(t, 409)
	require.Equal(t, "operation_failed", code)

	// A key that is revoked takes what it started with it.
	key, record := s.Admin.NewKey(map[string]any{"scopes": []string{"admin"}})
	o = key.Start(slowQuery)
	s.Admin.InState(o, "running")
	s.Admin.OK("DELETE", "/v1/api-keys/"+record["id"].(string), nil)
	o = s.Admin.Await(o)
	require.Equal(t, "cancelled", o["state"])
	require.Equal(t, "query_cancelled", o["error"].(map[string]any)["code"])
	require.Eventually(t, func() bool {
		return strings.Contains(string(s.Admin.Call("GET", "/v1/organisations/"+s.Boot.OrganisationID+"/audit?action=operation.end", nil).Body),
			`"state":"cancelled"`)
	}, time.Minute, 50*time.Millisecond)
}

// TestStoredResultsFollowPolicies checks that stored rows are shown only while the same
// query, run now, would be subject to the same policies.
func TestStoredResultsFollowPolicies(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, nil) // every change of the catalog counts
	s.Table("sales", `SELECT i AS id, 'r' || (i % 4) AS region FROM range(100) t(i)`, nil, column{"id", "long"}, column{"region", "string"})
	s.Table("other", `SELECT 1 AS id`, nil, column{"id", "long"})
	org := "/v1/organisations/" + s.Boot.OrganisationID
	s.Policy("sales", "region", `{"effect":"permit","subject":{"attribute":"region","op":"eq"}}`)
	ana := s.Member("ana@acme.example", "viewer", map[string]string{"region": "r1"})
	begin := func(sql string) map[string]any {
		t.Helper()
		o := ana.Await(ana.Start(sql))
		require.Equal(t, "succeeded", o["state"], "%v", o)
		return o
	}
	sales := "SELECT * FROM " + s.Schema + ".sales"
	fresh := func(o map[string]any) { t.Helper(); require.Equal(t, 200, ana.Result(o).Status) }
	stale := func(o map[string]any, what string) {
		t.Helper()
		code, _ := ana.Result(o).Problem(t, 409)
		require.Equal(t, "result_stale", code, what)
	}
	o := begin(sales)
	require.Len(t, ana.Result(o).JSON(t)["rows"], 25)
	// What does not concern the rows leaves them alone.
	bystander := s.Member("bob@acme.example", "viewer", nil)
	s.Admin.OK("PUT", org+"/users/"+bystander.User+"/attributes", map[string]string{"region": "r2"})
	s.Policy("other", "id", harness.Everyone)
	fresh(o)

	s.Admin.OK("PUT", org+"/users/"+ana.User+"/attributes", map[string]string{"region": "r2"})
	stale(o, "attribute")
	o = begin(sales)
	s.Admin.OK("PUT", org+"/users/"+ana.User+"/role", map[string]string{"role": "editor"})
	stale(o, "role")
	o = begin(sales)
	p := s.Policy("sales", "region", `{"effect":"forbid","subject":{"everyone":true},"condition":{"op":"eq","value":"r2"}}`)
	stale(o, "new policy")
	o = begin(sales)
	s.Admin.OK("PATCH", org+"/policies/"+p["id"].(string), map[string]any{"enabled": false, "expectedVersion": 1})
	stale(o, "policy that is switched off")
	o, unread := begin(sales), begin("SELECT 1")
	require.Equal(t, 200, s.Admin.Call("DELETE", "/v1/tables/lake/"+s.Schema+"/sales", nil).Status)
	stale(o, "dropped table")
	fresh(unread)

	// What the catalog itself answers follows every change of it.
	o = begin("SHOW TABLES")
	fresh(o)
	_, boundary := s.Admin.NewKey(map[string]any{})
	require.NotEmpty(t, boundary)
	stale(o, "any change")
	o = begin("SHOW TABLES")
	fresh(o)
	s.Table("another", `SELECT 1 AS id`, nil, column{"id", "long"})
	stale(o, "another table")
	for _, view := range []string{"tables", "columns", "schemata"} {
		o = begin("SELECT count(*) FROM information_schema." + view)
		fresh(o)
		s.Policy("another", "id", harness.Everyone)
		stale(o, view+" of information_schema")
	}

	// Another table in the place, with another identity.
	o = begin("SELECT * FROM " + s.Schema + ".another")
	require.NoError(t, os.RemoveAll(filepath.Join(s.Root, "another")))
	s.Table("another", `SELECT 2 AS id`, nil, column{"id", "long"})
	stale(o, "identity")

	// A key that reaches less than the one that ran the query.
	narrow, _ := s.Admin.NewKey(map[string]any{"scopes": []string{"tables:read"}})
	o = s.Admin.Await(s.Admin.Start("SELECT 1"))
	code, _ := narrow.Result(o).Problem(t, 403)
	require.Equal(t, "insufficient_scope", code)
}

func TestDiscoveryGoesOnAsAnOperation(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	harness.WriteTable(t, filepath.Join(s.Root, "late"), "SELECT 1 AS id", nil, column{"id", "long"})
	id := s.Admin.OK("GET", harness.ConfigsPath, nil)["configs"].([]any)[0].(map[string]any)["configId"].(string)
	unknown := s.Admin.Call("POST", harness.ConfigsPath+"/"+uuid.NewString()+"/discover", nil, "Prefer", "respond-async")
	unknown.Problem(t, 404)
	viewer := s.Member("discoverer@acme.example", "viewer", nil)
	viewer.Call("POST", harness.ConfigsPath+"/"+id+"/discover", nil, "Prefer", "respond-async").Problem(t, 403)
	r := s.Admin.Call("POST", harness.ConfigsPath+"/"+id+"/discover", nil, "Prefer", "respond-async")
	if r.Status == http.StatusOK { // it was faster than the preference
		require.Equal(t, 1.0, r.JSON(t)["tablesAdded"])
		return
	}
	require.Equal(t, http.StatusAccepted, r.Status, "%s", r.Body)
	o := s.Admin.Await(r.JSON(t))
	require.Equal(t, "discover", o["kind"])
	require.Equal(t, "succeeded", o["state"], "%v", o)
	require.Equal(t, 1.0, o["result"].(map[string]any)["tablesAdded"])
	require.Equal(t, 1.0, s.Admin.Count(s.Schema+".late"))
	s.Admin.Result(o).Problem(t, 404)
}

// TestOperationsOutliveReplicas checks that any replica shows and cancels operations of
// another one, and that operations of an ended replica are reported as lost.
func TestOperationsOutliveReplicas(t *testing.T) {
	url := pgtest.URL(t)
	shared := t.TempDir()
	s := harness.Start(t, func(c *harness.Settings) {
		c.DatabaseURL, c.ResultsURL, c.DrainTimeout = url, "file://"+shared, time.Second
	})
	twin := &harness.Server{T: t, Config: s.Config, Log: s.Log}
	twin.Config.DataDir = t.TempDir()
	twin.Start()
	there := twin.Client(s.Admin.Key, s.Admin.User)

	o := s.Admin.Await(s.Admin.Start("SELECT i FROM range(1000) t(i)"))
	require.Equal(t, 1000, bytes.Count(there.Result(o, "Accept", harness.Ndjson).Body, []byte("\n")), "read on the other replica")
	o = s.Admin.Start(slowQuery)
	s.Admin.InState(o, "running")
	asked, stalls := time.Now(), enginetest.WatchStalls(0)
	there.OK("DELETE", "/v1/operations/"+o["id"].(string), nil)
	require.Equal(t, "cancelled", there.Await(o)["state"])
	require.Less(t, time.Since(asked)-stalls(), 2*time.Second)

	o = s.Admin.Start(slowQuery)
	s.Admin.InState(o, "running")
	s.Stop()
	o = there.Operation(o)
	require.Equal(t, "failed", o["state"])
	require.Equal(t, "operation_lost", o["error"].(map[string]any)["code"])

	// One that died without a word.
	store, err := twin.OpenCatalog(context.Background())
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	silent, err := store.CreateOperation(t.Context(), catalog.NewOperation{
		Org: catalog.OrgID(s.Boot.OrganisationID), User: catalog.UserID(s.Boot.UserID), Kind: catalog.OperationQuery, Runner: "died",
	})
	require.NoError(t, err)
	require.Equal(t, "queued", there.Operation(map[string]any{"id": string(silent.ID)})["state"])
}

// TestTruncatedStoredResultIsRefused checks that a truncated file is not taken for a
// shorter result.
func TestTruncatedStoredResultIsRefused(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, nil)
	o := s.Admin.Await(s.Admin.Start("SELECT i FROM range(20000) t(i)"))
	file := keptFiles(s)[0]
	whole, err := os.ReadFile(file)
	require.NoError(t, err)
	stream, err := ipc.NewReader(bytes.NewReader(whole))
	require.NoError(t, err)
	require.True(t, stream.Next())
	rows := stream.RecordBatch().NumRows()
	require.Less(t, rows, int64(20000))
	for _, size := range []int{len(whole) - 8, len(whole) / 2, 100, 0} {
		require.NoError(t, os.WriteFile(file, whole[:size], 0o600))
		r := s.Admin.Result(o, "Accept", harness.CSVType)
		if size == len(whole)-8 { // only the mark of the end
			require.Equal(t, 200, r.Status)
			continue
		}
		require.Equal(t, 500, r.Status, "%d bytes", size)
	}
}
