package operation_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// unresponsive is a statement that is served, and that works on every 2,048 rows
// for seconds: the engine looks for an interrupt between them.
func unresponsive() string {
	return "SELECT " + harness.ManyResults(16, "sum(damerau_levenshtein(a.x, b.x || #))") + ", " +
		harness.ManyResults(15, "sum(list_reduce(range(n + #), lambda a, b: a + b))") +
		" FROM (SELECT repeat('ab', 48 + range % 2) AS x, 980 + range % 2 AS n FROM range(2048)) a, (SELECT repeat('ba', 48 + range % 2) AS x " +
		"FROM range(1000)) b"
}

// patient is the longest time limit of a statement, for one that a busy machine delays.
const patient = 600_000

// openStream starts a statement that answers with NDJSON, and reads nothing of it yet.
func openStream(c *harness.Client, sql string) *http.Response {
	c.T.Helper()
	body, err := json.Marshal(map[string]any{"sql": sql, "timeout_ms": patient})
	require.NoError(c.T, err)
	req, err := http.NewRequest(http.MethodPost, c.URL+"/v1/query", bytes.NewReader(body))
	require.NoError(c.T, err)
	for name, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/x-ndjson",
		"Authorization": "Bearer " + c.Key} {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	require.NoError(c.T, err)
	require.Equal(c.T, http.StatusOK, resp.StatusCode)
	return resp
}

// countLines returns the number of lines of a response until it ends or breaks off.
func countLines(body io.Reader) (lines int) {
	piece := make([]byte, 64<<10)
	for {
		n, err := body.Read(piece)
		lines += bytes.Count(piece[:n], []byte{'\n'})
		if err != nil {
			return lines
		}
	}
}

// TestStreamsOutliveUnresponsiveStatements checks that a statement of one user that
// cannot be stopped ends no stream of other users of the organisation and delays no
// statement.
func TestStreamsOutliveUnresponsiveStatements(t *testing.T) {
	const tries = 20
	// The first rows come at once, and the others take seconds of work, more on a busy machine.
	const rows = 300_002
	const slow = "SELECT range AS id FROM range(300000) UNION ALL SELECT a.range FROM range(40000) a, range(30000) b " +
		"WHERE a.range * b.range = 7"
	s := harness.Start(t, nil)
	reader, culprit, other := s.Member("ana@acme.example", "viewer", nil), s.Member("eve@acme.example", "viewer", nil),
		s.Member("ben@acme.example", "viewer", nil)
	culprit.Rows("SELECT 1") // its session is open
	other.Rows("SELECT 1")
	old := harness.WorkerProcesses(t)
	require.Len(t, old, 1)
	long := openStream(reader, slow)
	defer func() { _ = long.Body.Close() }()
	defer func() {
		if t.Failed() {
			t.Log(s.Log.String())
		}
	}()
	counted := make(chan int, 1)
	go func() { counted <- countLines(long.Body) }()

	// The deadline may pass between two pieces of the statement's work.
	for range tries {
		r := culprit.Call("POST", "/v1/query", map[string]any{"sql": unresponsive(), "timeout_ms": 1000})
		r.Problem(t, http.StatusUnprocessableEntity)
		require.Contains(t, string(r.Body), "query_timeout")
		require.Equal(t, []any{[]any{1.0}}, other.Rows("SELECT 1"))
		require.Contains(t, harness.WorkerProcesses(t), old[0], "it has a stream to serve")
		if len(harness.WorkerProcesses(t)) > 1 {
			break
		}
	}
	require.Len(t, harness.WorkerProcesses(t), 2, "a fresh worker serves what began meanwhile")
	require.Equal(t, []any{[]any{1.0}}, culprit.Rows("SELECT 1"))

	require.Equal(t, rows, <-counted)
	require.Eventually(t, func() bool { return !slices.Contains(harness.WorkerProcesses(t), old[0]) }, time.Minute, 10*time.Millisecond,
		"the old worker has nothing left to do")
	s.Quiet(t)
	s.Stop()
	require.Contains(t, s.Log.String(), `"msg":"worker drains"`)
}

// TestLostStatementRestartsBeforeFirstByte checks that a statement whose worker is
// lost before its result was sent runs again and returns all its rows.
func TestLostStatementRestartsBeforeFirstByte(t *testing.T) {
	s := harness.Start(t, func(c *harness.Settings) { c.Threads = 1 })
	c := s.Member("ana@acme.example", "viewer", nil)
	c.Rows("SELECT 1")
	// The first rows come at once, and a Parquet file holds them back for its first
	// group; the others take a while.
	const sql = "SELECT range AS id FROM range(300000) UNION ALL SELECT a.range FROM range(40000) a, range(15000) b WHERE a.range * b.range " +
		"= 7"
	answer := make(chan harness.Reply, 1)
	go func() {
		answer <- c.Call("POST", "/v1/query", map[string]any{"sql": sql, "timeout_ms": patient}, "Accept", "application/vnd.apache.parquet")
	}()
	worker := harness.WorkerProcesses(t)[0]
	busy := harness.ProcessorTicks(t, worker)
	require.Eventually(t, func() bool { return harness.ProcessorTicks(t, worker) >= busy+50 }, time.Minute, 5*time.Millisecond,
		"half a second of work: the first rows come before that")
	select {
	case r := <-answer:
		t.Fatalf("it ended too soon: %.200s", r.Body)
	default:
	}
	killWorkers(t)
	r := <-answer
	require.Equal(t, http.StatusOK, r.Status, "%.300s", r.Body)
	rows, err := file.NewParquetReader(bytes.NewReader(r.Body))
	require.NoError(t, err)
	require.EqualValues(t, 300_002, rows.NumRows())
}

// killWorkers kills the worker processes of the test's servers.
func killWorkers(t *testing.T) {
	t.Helper()
	for _, pid := range harness.WorkerProcesses(t) {
		n, err := strconv.Atoi(pid)
		require.NoError(t, err)
		require.NoError(t, syscall.Kill(n, syscall.SIGKILL))
	}
}

// TestLostOperationsRestart checks that a query that runs as an operation runs again when
// its worker is lost, even after rows were stored, and stores every row once.
func TestLostOperationsRestart(t *testing.T) {
	s := harness.Start(t, func(c *harness.Settings) { c.Threads = 1 })
	c := s.Member("ana@acme.example", "viewer", nil)
	c.Rows("SELECT 1")
	const sql = "SELECT range AS id FROM range(300000) UNION ALL SELECT a.range FROM range(40000) a, range(10000) b WHERE a.range * b.range " +
		"= 7"
	o := c.Start(sql)
	require.Eventually(t, func() bool { return c.Operation(o)["progress"].(map[string]any)["done"].(float64) > 0 }, time.Minute,
		5*time.Millisecond)
	require.Equal(t, "running", c.Operation(o)["state"])
	killWorkers(t)
	require.Eventually(t, func() bool { o = c.Operation(o); return o["state"] != "running" }, 2*time.Minute, 50*time.Millisecond)
	require.Equal(t, "succeeded", o["state"], "%v", o)
	require.Equal(t, 300_002.0, o["result"].(map[string]any)["rowCount"])
	require.Equal(t, 300_002, bytes.Count(c.Result(o, "Accept", harness.Ndjson).Body, []byte("\n")))
}
