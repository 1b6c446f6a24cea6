package hostile_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
	"github.com/lakewarden/lakewarden/engine/enginetest"
)

// slowParquet writes a file that takes a while to read, because its values are cast, and one
// that does not.
const slowParquet = `
import sys, duckdb
duckdb.sql(f"""COPY (SELECT i::INTEGER AS id, (i * 7919 % 100003)::DECIMAL(20,2) AS amount, 'value ' || hash(i) AS name
	FROM range(2000000) r(i)) TO '{sys.argv[1]}/slow' (FORMAT parquet)""")
duckdb.sql(f"COPY (SELECT -1::BIGINT AS id) TO '{sys.argv[1]}/small' (FORMAT parquet)")
`

// uploading is a server that runs a statement, with a table for uploads and their process.
type uploading struct {
	*harness.Server
	t           *testing.T
	slow, small string
	path        string
	// before are the worker processes of other servers; queries is the one of statements.
	before, queries []string
}

func newUploading(t *testing.T, change func(*harness.Settings)) *uploading {
	dir := t.TempDir()
	harness.Python(t, slowParquet, dir)
	read := func(name string) string {
		body, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		return string(body)
	}
	u := &uploading{t: t, slow: read("slow"), small: read("small"), before: harness.WorkerProcesses(t)}
	u.Server = harness.Start(t, change)
	u.path = u.Create("t", nil, harness.Col("id", "long"), harness.Col("amount", "decimal(12,2)"), harness.Col("name", "string"))
	require.EqualValues(t, 200, u.Admin.Query("SELECT 1").Status)
	u.queries = u.workers()
	require.Len(t, u.queries, 1)
	return u
}

func (u *uploading) workers(others ...string) []string {
	return slices.DeleteFunc(harness.WorkerProcesses(u.t), func(pid string) bool {
		return slices.Contains(u.before, pid) || slices.Contains(others, pid)
	})
}

// send uploads n bodies at once.
func (u *uploading) send(n int, body string) <-chan harness.Reply {
	replies := make(chan harness.Reply, n)
	for range n {
		go func() { replies <- u.Admin.Call("POST", u.path+"/rows", body, "Content-Type", harness.ParquetType) }()
	}
	return replies
}

// reading waits until the process for uploads computes, and returns it.
func (u *uploading) reading(statements int) (pid string, number int) {
	u.t.Helper()
	require.Eventually(u.t, func() bool {
		found := u.workers(u.queries...)
		if len(found) != 1 || u.Metric(u.t, `lakewarden_sessions{state="running"}`) != float64(statements) {
			return false
		}
		pid = found[0]
		return true
	}, time.Minute, 2*time.Millisecond)
	begun := harness.ProcessorTicks(u.t, pid)
	require.Eventually(u.t, func() bool { return harness.ProcessorTicks(u.t, pid) >= begun+20*statements }, time.Minute,
		2*time.Millisecond)
	number, err := strconv.Atoi(pid)
	require.NoError(u.t, err)
	return pid, number
}

// leftNothing checks that no part of a refused upload is in a table or on the disk.
func (u *uploading) leftNothing(rows float64) {
	u.t.Helper()
	require.Equal(u.t, rows, u.Admin.Count(u.Schema+".t"))
	require.Eventually(u.t, func() bool {
		left, err := os.ReadDir(filepath.Join(u.Config.DataDir, "writes"))
		return err == nil && len(left) == 0
	}, time.Minute, 10*time.Millisecond)
}

// TestUploadThatEndsItsReader crashes the process that reads uploads in the middle of a body.
// Statements of the same organisation continue, and so does another upload.
func TestUploadThatEndsItsReader(t *testing.T) {
	u := newUploading(t, func(c *harness.Settings) { c.Threads = 1 })
	statement := make(chan harness.Reply, 1)
	go func() { statement <- u.Admin.Query(slowly) }()
	require.Eventually(t, func() bool { return u.Metric(t, `lakewarden_sessions{state="running"}`) == 1 }, time.Minute, time.Millisecond)

	alone := u.send(1, u.slow)
	pid, number := u.reading(2)
	require.NoError(t, syscall.Kill(number, syscall.SIGSEGV))
	r := <-alone
	code, _ := r.Problem(t, 400)
	require.Equal(t, "invalid_body", code, "%s", r.Body)
	require.NotRegexp(t, engineWords, strings.ReplaceAll(string(r.Body), "Parquet", ""))
	require.NotContains(t, u.workers(), pid)
	answer := <-statement
	require.EqualValues(t, 200, answer.Status, "%s", answer.Body)
	u.leftNothing(0)

	// One of two uploads may be the cause, so each is read again in a process of its own.
	starts := u.Metric(t, "lakewarden_worker_starts_total")
	both := u.send(2, u.slow)
	_, number = u.reading(2)
	require.NoError(t, syscall.Kill(number, syscall.SIGSEGV))
	for range 2 {
		require.EqualValues(t, 200, (<-both).Status)
	}
	require.Equal(t, starts+3, u.Metric(t, "lakewarden_worker_starts_total"))
	u.leftNothing(4_000_000)

	require.Contains(t, u.workers(), u.queries[0], "the process of statements was never replaced")
	require.Contains(t, u.Log.String(), `"msg":"worker ended","organisation":"`+u.Boot.OrganisationID+`","uploads":true`)
}

// TestUploadThatHangsItsReader stops the process that reads uploads in the middle of a body.
// The upload ends with its timeout, and statements and later uploads are served meanwhile.
func TestUploadThatHangsItsReader(t *testing.T) {
	u := newUploading(t, func(c *harness.Settings) { c.MaxTimeout, c.QueryTimeout = 12*time.Second, 12*time.Second })
	hanging := u.send(1, u.slow)
	_, number := u.reading(1)
	require.NoError(t, syscall.Kill(number, syscall.SIGSTOP))
	t.Cleanup(func() { _ = syscall.Kill(number, syscall.SIGCONT) }) // it has ended unless the test failed
	for i := 0; len(hanging) == 0; i++ {
		begun, stalls := time.Now(), enginetest.WatchStalls(0)
		require.Equal(t, float64(i), u.Admin.Rows("SELECT " + strconv.Itoa(i))[0].([]any)[0])
		require.Less(t, time.Since(begun)-stalls(), 3*time.Second)
	}
	r := <-hanging
	require.EqualValues(t, 422, r.Status, "%s", r.Body)
	code, _ := r.Problem(t, 422)
	require.Equal(t, "query_timeout", code)
	require.Eventually(t, func() bool { return !slices.Contains(u.workers(), strconv.Itoa(number)) }, time.Minute, 10*time.Millisecond,
		"the process is killed")
	u.leftNothing(0)
	require.EqualValues(t, 200, (<-u.send(1, u.small)).Status, "the next upload has a new process")
	u.leftNothing(1)
	require.Equal(t, u.queries, u.workers(u.workers(u.queries...)...), "the process of statements was never replaced")
}
