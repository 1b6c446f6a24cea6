package main

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
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/catalogtest/pgtest"
)

const (
	ndjson    = "application/x-ndjson"
	csvType   = "text/csv"
	arrowType = "application/vnd.apache.arrow.stream"
)

// slowQuery runs for long, and stops when it is asked to.
const slowQuery = "SELECT count(*) FROM range(100000000) a(i), range(100000000) b(j) WHERE i * j % 7 = 3"

// start begins a query whose rows are kept and returns its operation.
func (c *client) start(sql string, more ...any) map[string]any {
	c.t.Helper()
	body := map[string]any{"sql": sql}
	for i := 0; i+1 < len(more); i += 2 {
		body[more[i].(string)] = more[i+1]
	}
	r := c.call("POST", "/v1/queries", body)
	require.Equal(c.t, http.StatusAccepted, r.status, "%s", r.body)
	o := r.json(c.t)
	require.Equal(c.t, "/v1/operations/"+o["id"].(string), r.header.Get("Location"))
	return o
}

func (c *client) operation(o map[string]any) map[string]any {
	c.t.Helper()
	return c.ok("GET", "/v1/operations/"+o["id"].(string), nil)
}

// await waits for an operation to end.
func (c *client) await(o map[string]any) map[string]any {
	c.t.Helper()
	require.Eventually(c.t, func() bool {
		o = c.operation(o)
		return o["state"] != "queued" && o["state"] != "running"
	}, 30*time.Second, 10*time.Millisecond, "%v", o)
	return o
}

func (c *client) inState(o map[string]any, state string) {
	c.t.Helper()
	require.Eventually(c.t, func() bool { return c.operation(o)["state"] == state }, 10*time.Second, 5*time.Millisecond)
}

func (c *client) result(o map[string]any, header ...string) reply {
	c.t.Helper()
	return c.call("GET", "/v1/operations/"+o["id"].(string)+"/result", nil, header...)
}

// keptFiles are the files below the place of results.
func (s *testServer) keptFiles() []string {
	files, err := filepath.Glob(filepath.Join(s.config.DataDir, "results", "*", "*.arrow"))
	require.NoError(s.t, err)
	return files
}

func TestAQueryAsAnOperation(t *testing.T) {
	s := startServer(t, nil)
	s.table("types", everyType, nil, everyColumn...)
	sql := "SELECT * FROM " + s.schema + ".types ORDER BY id"
	o := s.admin.await(s.admin.start(sql))
	require.Equal(t, "succeeded", o["state"], "%v", o)
	require.Equal(t, "query", o["kind"])
	require.Equal(t, s.admin.user, o["userId"])
	require.Nil(t, o["error"])
	require.Equal(t, map[string]any{"done": 4.0, "total": nil, "unit": "rows"}, o["progress"])
	result := o["result"].(map[string]any)
	require.Equal(t, 4.0, result["rowCount"])
	require.Equal(t, false, result["truncated"])
	for _, at := range []string{"createdAt", "startedAt", "finishedAt", "expiresAt"} {
		require.NotEmpty(t, o[at], at)
	}
	// Every format, from what was kept, says what the query itself says.
	for _, accept := range []string{ndjson, csvType, arrowType, parquetType} {
		direct := s.admin.call("POST", "/v1/query", map[string]any{"sql": sql}, "Accept", accept)
		kept := s.admin.result(o, "Accept", accept)
		require.Equal(t, 200, kept.status, "%s", kept.body)
		require.True(t, bytes.Equal(direct.body, kept.body), accept)
		require.Equal(t, direct.header.Get("Content-Type"), kept.header.Get("Content-Type"))
		require.Equal(t, result["queryId"], kept.header.Get("X-Query-Id"))
	}
	require.Equal(t, s.admin.query(sql).json(t)["rows"], s.admin.result(o).json(t)["rows"])
	require.Contains(t, string(s.admin.call("GET", "/v1/operations/"+o["id"].(string)+"/result?integers=string", nil).body), `"9223372036854775807"`)
	s.admin.result(o, "Accept", "image/png").problem(t, 400)

	// Prefer on the query's own route is the same.
	r := s.admin.call("POST", "/v1/query", map[string]any{"sql": "SELECT 1 AS one"}, "Prefer", "handling=strict, Respond-Async;x=y, wait=10")
	require.Equal(t, http.StatusAccepted, r.status, "%s", r.body)
	require.Equal(t, "respond-async", r.header.Get("Preference-Applied"))
	require.Contains(t, string(s.admin.result(s.admin.await(r.json(t))).body), `"rows":[[1]]`)
	require.Equal(t, 200, s.admin.call("POST", "/v1/query", map[string]any{"sql": "SELECT 1"}, "Prefer", "return=minimal").status)

	// No rows, many rows, cut rows.
	empty := s.admin.await(s.admin.start("SELECT 1 AS a, 'x' AS b WHERE false"))
	require.Contains(t, string(s.admin.result(empty).body), `"columns":[{"name":"a","type":"INTEGER"},{"name":"b","type":"VARCHAR"}],"rows":[]`)
	many := s.admin.await(s.admin.start("SELECT i, 'row ' || i AS word FROM range(300000) t(i)"))
	require.Equal(t, 300000.0, many["result"].(map[string]any)["rowCount"])
	require.Equal(t, 300000, bytes.Count(s.admin.result(many, "Accept", ndjson).body, []byte("\n")))
	require.Equal(t, true, s.admin.result(many).json(t)["truncated"], "JSON has its limits")
	cut := s.admin.await(s.admin.start("SELECT * FROM range(5000)", "row_limit", 10))
	require.Equal(t, true, cut["result"].(map[string]any)["truncated"])
	again := s.admin.result(cut).json(t)
	require.Len(t, again["rows"], 10)
	require.Equal(t, true, again["truncated"], "what was cut when it was kept is a part for ever")
	page := s.admin.ok("GET", "/v1/operations?page_size=2", nil)
	require.Len(t, page["operations"], 2)
	require.Equal(t, cut["id"], page["operations"].([]any)[0].(map[string]any)["id"], "newest first")
	require.Len(t, s.admin.ok("GET", "/v1/operations?page_token="+page["nextPageToken"].(string), nil)["operations"], 3)
}

func TestOperationsThatFail(t *testing.T) {
	s := startServer(t, func(c *settings) { c.ResultBytes, c.ResultsOrgBytes = 1, 2 })
	o := s.admin.await(s.admin.start("SELECT nope"))
	require.Equal(t, "failed", o["state"])
	direct := s.admin.query("SELECT nope").json(t)
	told := o["error"].(map[string]any)
	require.Equal(t, direct["code"], told["code"])
	require.Equal(t, direct["message"], told["message"])
	require.Equal(t, direct["details"], told["details"])
	code, _ := s.admin.result(o).problem(t, 409)
	require.Equal(t, "operation_failed", code)
	o = s.admin.await(s.admin.start("SELECT (i - 100)::UTINYINT AS x FROM range(200) t(i)"))
	require.Equal(t, "value_error", o["error"].(map[string]any)["code"])
	o = s.admin.await(s.admin.start(slowQuery, "timeout_ms", 50))
	require.Equal(t, "query_timeout", o["error"].(map[string]any)["code"])
	s.admin.call("POST", "/v1/queries", map[string]any{"sql": "SELECT 1", "timeout_ms": 80_000_000}).problem(t, 422)

	// A result may not grow without bounds, nor all of them together.
	big := "SELECT md5(i::VARCHAR) AS word FROM range(%d) t(i)"
	o = s.admin.await(s.admin.start(fmt.Sprintf(big, 1_000_000)))
	require.Equal(t, "result_too_large", o["error"].(map[string]any)["code"], "%v", o)
	var kept []map[string]any
	for range 5 { // each takes more than half a MiB
		if o = s.admin.await(s.admin.start(fmt.Sprintf(big, 20_000))); o["state"] == "succeeded" {
			kept = append(kept, o)
		}
	}
	require.Equal(t, "result_too_large", o["error"].(map[string]any)["code"])
	require.Len(t, kept, 2)
	s.admin.ok("DELETE", "/v1/operations/"+kept[0]["id"].(string), nil)
	require.Equal(t, "succeeded", s.admin.await(s.admin.start(fmt.Sprintf(big, 20_000)))["state"], "there is room again")
	require.Empty(t, temporary(t, s), "nothing is left behind")
}

// TestManyResultsAtOnceStayBelowTheirCap: room that one result is about to take is
// not given to another one meanwhile.
func TestManyResultsAtOnceStayBelowTheirCap(t *testing.T) {
	s := startServer(t, func(c *settings) { c.ResultBytes, c.ResultsOrgBytes, c.MaxRunning = 1, 2, 16 })
	started := make([]map[string]any, 8)
	for i := range started {
		started[i] = s.admin.start("SELECT md5(i::VARCHAR) AS word FROM range(20000) t(i)")
	}
	total, kept := 0.0, 0
	for _, o := range started {
		switch o = s.admin.await(o); o["state"] {
		case "succeeded":
			total += o["result"].(map[string]any)["bytes"].(float64)
			kept++
		default:
			require.Equal(t, "result_too_large", o["error"].(map[string]any)["code"], "%v", o)
		}
	}
	require.LessOrEqual(t, total, float64(2<<20))
	require.Positive(t, kept)
	require.Len(t, s.keptFiles(), kept)
	require.Equal(t, "succeeded", s.admin.await(s.admin.start("SELECT 1"))["state"], "what failed gives its room back")
}

// temporary are the files of results that are being written.
func temporary(t *testing.T, s *testServer) []string {
	files, err := filepath.Glob(filepath.Join(s.config.DataDir, "tmp", "result-*"))
	require.NoError(t, err)
	return files
}

func TestOperationsAreTheirOwners(t *testing.T) {
	s := startServer(t, nil)
	ana, bob := s.member("ana@acme.example", "editor", nil), s.member("bob@acme.example", "editor", nil)
	o := ana.await(ana.start("SELECT 1"))
	path := "/v1/operations/" + o["id"].(string)
	for _, call := range []struct{ method, path string }{{"GET", path}, {"DELETE", path}, {"GET", path + "/result"}} {
		code, _ := bob.call(call.method, call.path, nil).problem(t, 404)
		require.Equal(t, "not_found", code)
	}
	require.Empty(t, bob.ok("GET", "/v1/operations", nil)["operations"])
	code, _ := bob.call("GET", "/v1/operations?all=true", nil).problem(t, 403)
	require.Equal(t, "insufficient_scope", code)
	require.Len(t, ana.ok("GET", "/v1/operations", nil)["operations"], 1)
	// An administrator sees that there is one, and not the rows: another member's
	// policies made them.
	require.Len(t, s.admin.ok("GET", "/v1/operations?all=true&kind=query&state=succeeded", nil)["operations"], 1)
	require.Empty(t, s.admin.ok("GET", "/v1/operations?all=true&kind=move", nil)["operations"])
	require.Equal(t, "succeeded", s.admin.ok("GET", path, nil)["state"])
	code, _ = s.admin.call("GET", path+"/result", nil).problem(t, 403)
	require.Equal(t, "not_owner", code)
	// An administrator may end it.
	require.Len(t, s.keptFiles(), 1)
	info, err := os.Stat(filepath.Join(s.config.DataDir, "results"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	require.Nil(t, s.admin.ok("DELETE", path, nil)["result"])
	require.Empty(t, s.keptFiles())
	ana.result(o).problem(t, 404)
	require.Equal(t, "succeeded", ana.ok("DELETE", path, nil)["state"], "again")
}

func TestCancelledOperations(t *testing.T) {
	s := startServer(t, nil)
	o := s.admin.start(slowQuery)
	s.admin.inState(o, "running")
	code, _ := s.admin.result(o).problem(t, 409)
	require.Equal(t, "operation_running", code)
	asked := time.Now()
	s.admin.ok("DELETE", "/v1/operations/"+o["id"].(string), nil)
	require.Equal(t, "cancelled", s.admin.await(o)["state"])
	require.Less(t, time.Since(asked), 500*time.Millisecond)
	require.Equal(t, "cancelled", s.admin.ok("DELETE", "/v1/operations/"+o["id"].(string), nil)["state"], "idempotent")
	code, _ = s.admin.result(o).problem(t, 409)
	require.Equal(t, "operation_failed", code)

	// A key that is revoked takes what it started with it.
	key, record := s.admin.newKey(map[string]any{"scopes": []string{"admin"}})
	o = key.start(slowQuery)
	s.admin.inState(o, "running")
	s.admin.ok("DELETE", "/v1/api-keys/"+record["id"].(string), nil)
	o = s.admin.await(o)
	require.Equal(t, "cancelled", o["state"])
	require.Equal(t, "query_cancelled", o["error"].(map[string]any)["code"])
	require.Eventually(t, func() bool {
		return strings.Contains(string(s.admin.call("GET", "/v1/organisations/"+s.boot.OrganisationID+"/audit?action=operation.end", nil).body), `"state":"cancelled"`)
	}, 5*time.Second, 50*time.Millisecond)
}

// TestResultsFollowTheRules: rows that were kept are shown only while a query
// that ran now would be held to the same rules.
func TestResultsFollowTheRules(t *testing.T) {
	s := startServer(t, nil)
	s.table("sales", `SELECT i AS id, 'r' || (i % 4) AS region FROM range(100) t(i)`, nil, column{"id", "long"}, column{"region", "string"})
	s.table("other", `SELECT 1 AS id`, nil, column{"id", "long"})
	org := "/v1/organisations/" + s.boot.OrganisationID
	s.policy("sales", "region", `{"effect":"permit","subject":{"attribute":"region","op":"eq"}}`)
	ana := s.member("ana@acme.example", "viewer", map[string]string{"region": "r1"})
	begin := func(sql string) map[string]any {
		t.Helper()
		o := ana.await(ana.start(sql))
		require.Equal(t, "succeeded", o["state"], "%v", o)
		return o
	}
	sales := "SELECT * FROM " + s.schema + ".sales"
	fresh := func(o map[string]any) { t.Helper(); require.Equal(t, 200, ana.result(o).status) }
	stale := func(o map[string]any, what string) {
		t.Helper()
		code, _ := ana.result(o).problem(t, 409)
		require.Equal(t, "result_stale", code, what)
	}
	o := begin(sales)
	require.Len(t, ana.result(o).json(t)["rows"], 25)
	// What does not concern the rows leaves them alone.
	bystander := s.member("bob@acme.example", "viewer", nil)
	s.admin.ok("PUT", org+"/users/"+bystander.user+"/attributes", map[string]string{"region": "r2"})
	s.policy("other", "id", everyone)
	fresh(o)

	s.admin.ok("PUT", org+"/users/"+ana.user+"/attributes", map[string]string{"region": "r2"})
	stale(o, "attribute")
	o = begin(sales)
	s.admin.ok("PUT", org+"/users/"+ana.user+"/role", map[string]string{"role": "editor"})
	stale(o, "role")
	o = begin(sales)
	p := s.policy("sales", "region", `{"effect":"forbid","subject":{"everyone":true},"condition":{"op":"eq","value":"r2"}}`)
	stale(o, "new policy")
	o = begin(sales)
	s.admin.ok("PATCH", org+"/policies/"+p["id"].(string), map[string]any{"enabled": false, "expectedVersion": 1})
	stale(o, "policy that is switched off")
	o, unread := begin(sales), begin("SELECT 1")
	require.Equal(t, 200, s.admin.call("DELETE", "/v1/tables/lake/"+s.schema+"/sales", nil).status)
	stale(o, "dropped table")
	fresh(unread)

	// What the catalog itself answers follows every change of it.
	o = begin("SHOW TABLES")
	fresh(o)
	_, boundary := s.admin.newKey(map[string]any{})
	require.NotEmpty(t, boundary)
	stale(o, "any change")
	o = begin("SHOW TABLES")
	fresh(o)
	s.table("another", `SELECT 1 AS id`, nil, column{"id", "long"})
	stale(o, "another table")
	for _, view := range []string{"tables", "columns", "schemata"} {
		o = begin("SELECT count(*) FROM information_schema." + view)
		fresh(o)
		s.policy("another", "id", everyone)
		stale(o, view+" of information_schema")
	}

	// Another table in the place, with another identity.
	o = begin("SELECT * FROM " + s.schema + ".another")
	require.NoError(t, os.RemoveAll(filepath.Join(s.root, "another")))
	s.table("another", `SELECT 2 AS id`, nil, column{"id", "long"})
	stale(o, "identity")

	// A key that reaches less than the one that ran the query.
	narrow, _ := s.admin.newKey(map[string]any{"scopes": []string{"tables:read"}})
	o = s.admin.await(s.admin.start("SELECT 1"))
	code, _ := narrow.result(o).problem(t, 403)
	require.Equal(t, "insufficient_scope", code)
}

func TestDiscoveryGoesOnAsAnOperation(t *testing.T) {
	s := startServer(t, nil)
	writeTable(t, filepath.Join(s.root, "late"), "SELECT 1 AS id", nil, column{"id", "long"})
	id := s.admin.ok("GET", configsPath, nil)["configs"].([]any)[0].(map[string]any)["configId"].(string)
	r := s.admin.call("POST", configsPath+"/"+id+"/discover", nil, "Prefer", "respond-async")
	if r.status == http.StatusOK { // it was faster than the preference
		require.Equal(t, 1.0, r.json(t)["tablesAdded"])
		return
	}
	require.Equal(t, http.StatusAccepted, r.status, "%s", r.body)
	o := s.admin.await(r.json(t))
	require.Equal(t, "discover", o["kind"])
	require.Equal(t, "succeeded", o["state"], "%v", o)
	require.Equal(t, 1.0, o["result"].(map[string]any)["tablesAdded"])
	require.Equal(t, 1.0, s.admin.count(s.schema+".late"))
	s.admin.result(o).problem(t, 404)
}

// TestOperationsOutliveReplicas: any replica shows and cancels what another one
// runs, and what a replica leaves behind is told as lost.
func TestOperationsOutliveReplicas(t *testing.T) {
	url := pgtest.URL(t)
	shared := t.TempDir()
	s := startServer(t, func(c *settings) { c.DatabaseURL, c.ResultsURL, c.DrainTimeout = url, "file://"+shared, time.Second })
	twin := &testServer{t: t, config: s.config, log: s.log, logged: s.logged}
	twin.config.DataDir = t.TempDir()
	twin.start()
	there := twin.client(s.admin.key, s.admin.user)

	o := s.admin.await(s.admin.start("SELECT i FROM range(1000) t(i)"))
	require.Equal(t, 1000, bytes.Count(there.result(o, "Accept", ndjson).body, []byte("\n")), "read on the other replica")
	o = s.admin.start(slowQuery)
	s.admin.inState(o, "running")
	asked := time.Now()
	there.ok("DELETE", "/v1/operations/"+o["id"].(string), nil)
	require.Equal(t, "cancelled", there.await(o)["state"])
	require.Less(t, time.Since(asked), time.Second)

	o = s.admin.start(slowQuery)
	s.admin.inState(o, "running")
	s.stop()
	o = there.operation(o)
	require.Equal(t, "failed", o["state"])
	require.Equal(t, "operation_lost", o["error"].(map[string]any)["code"])

	// One that died without a word.
	store, err := twin.openCatalog(context.Background())
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	silent, err := store.CreateOperation(t.Context(), catalog.NewOperation{
		Org: catalog.OrgID(s.boot.OrganisationID), User: catalog.UserID(s.boot.UserID), Kind: catalog.OperationQuery, Runner: "died",
	})
	require.NoError(t, err)
	require.Equal(t, "queued", there.operation(map[string]any{"id": string(silent.ID)})["state"])
}

// TestAKeptResultThatBrokeOffIsNoResult: a file that lost its end must not be
// taken for a shorter result.
func TestAKeptResultThatBrokeOffIsNoResult(t *testing.T) {
	s := startServer(t, nil)
	o := s.admin.await(s.admin.start("SELECT i FROM range(20000) t(i)"))
	file := s.keptFiles()[0]
	whole, err := os.ReadFile(file)
	require.NoError(t, err)
	stream, err := ipc.NewReader(bytes.NewReader(whole))
	require.NoError(t, err)
	require.True(t, stream.Next())
	rows := stream.RecordBatch().NumRows()
	require.Less(t, rows, int64(20000))
	for _, size := range []int{len(whole) - 8, len(whole) / 2, 100, 0} {
		require.NoError(t, os.WriteFile(file, whole[:size], 0o600))
		r := s.admin.result(o, "Accept", csvType)
		if size == len(whole)-8 { // only the mark of the end
			require.Equal(t, 200, r.status)
			continue
		}
		require.Equal(t, 500, r.status, "%d bytes", size)
	}
}
