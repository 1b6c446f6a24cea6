package query_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
	"github.com/lakewarden/lakewarden/engine/enginetest"
)

// wide makes a table whose rows, in any format, are more than connections buffer.
func wide(s *harness.Server) string {
	s.T.Helper()
	s.Table("wide", "SELECT i AS id, md5(i::VARCHAR) || md5((-i)::VARCHAR) AS text FROM range(150000) t(i)", nil, column{"id", "long"},
		column{"text", "string"})
	return "SELECT id, text FROM " + s.Schema + ".wide"
}

// reader is a client that decides when it reads. Its system buffers little.
type reader struct {
	conn net.Conn
	in   *bufio.Reader
}

// send makes a request and reads nothing of the reply.
func send(c *harness.Client, t testing.TB, method, path string, body any, header ...string) *reader {
	t.Helper()
	dialer := net.Dialer{Control: func(_, _ string, raw syscall.RawConn) (err error) {
		if failed := raw.Control(func(fd uintptr) {
			err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF,
				4096)
		}); failed != nil {
			return failed
		}
		return err
	}}
	conn, err := dialer.DialContext(t.Context(), "tcp", strings.TrimPrefix(c.URL, "http://"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	raw, err := json.Marshal(body)
	require.NoError(t, err)
	req, err := http.NewRequest(method, c.URL+path, bytes.NewReader(raw))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+c.Key)
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	require.NoError(t, req.Write(conn))
	return &reader{conn: conn, in: bufio.NewReader(conn)}
}

// rest reads the whole reply.
func (r *reader) rest(t testing.TB) (*http.Response, []byte, error) {
	t.Helper()
	require.NoError(t, r.conn.SetReadDeadline(time.Now().Add(time.Minute)))
	resp, err := http.ReadResponse(r.in, nil)
	require.NoError(t, err)
	body, err := io.ReadAll(resp.Body)
	return resp, body, err
}

// varying is what differs between two replies with the same rows.
var varying = regexp.MustCompile(`"(query_id|request_id)":"[^"]*"|"elapsed_ms":[0-9]+`)

func spilled(s *harness.Server, t testing.TB) (streams, bytes float64) {
	return s.Metric(t, "lakewarden_spilled_streams"), s.Metric(t, "lakewarden_spilled_bytes")
}

// trickle reads a byte now and then, until the connection ends.
func (r *reader) trickle(every time.Duration) (stop func()) {
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-end:
				return
			case <-time.After(every):
				if _, err := r.in.Peek(r.in.Buffered() + 1); err != nil {
					return // its buffer is full, or the connection has ended
				}
			}
		}
	}()
	return func() {
		close(end)
		_ = r.conn.SetReadDeadline(time.Now()) // it may wait for a byte
		<-ended
	}
}

// TestStalledReadersGiveTheirSessionsBack checks that thirty clients of one user which
// read nothing, or a byte now and then, delay another user by only a few turns, and that each
// gets its whole result when it reads, except those that made room for the other user.
func TestStalledReadersGiveTheirSessionsBack(t *testing.T) {
	s := harness.Start(t, func(c *harness.Settings) { c.MaxRunning, c.Threads = 12, 1 })
	sql := wide(s)
	greedy, small := s.Member("greedy@acme.example", "admin", nil), s.Member("small@acme.example", "admin", nil)
	arrow := []string{"Accept", "application/vnd.apache.arrow.stream"}
	want := greedy.Call("POST", "/v1/query", map[string]any{"sql": sql}, arrow...)
	require.Equal(t, http.StatusOK, want.Status)
	ask := func() {
		t.Helper()
		require.Equal(t, []any{[]any{1.0}}, small.Rows("SELECT id FROM "+s.Schema+".wide WHERE id = 1"))
	}
	ask() // once before, so that the next time it only waits for its turn

	readers, trickling := make([]*reader, 30), []func(){}
	for i := range readers {
		readers[i] = send(greedy, t, "POST", "/v1/query", map[string]any{"sql": sql}, arrow...)
		if i%2 == 0 {
			trickling = append(trickling, readers[i].trickle(100*time.Millisecond))
		}
	}
	const running, queued = `lakewarden_sessions{state="running"}`, `lakewarden_sessions{state="queued"}`
	require.Eventually(t, func() bool { return s.Metric(t, queued) >= 15 }, time.Minute, 10*time.Millisecond, "they fill the server")
	before := s.Metric(t, "lakewarden_session_queue_seconds_count")
	start := time.Now()
	ask()
	turns := s.Metric(t, "lakewarden_session_queue_seconds_count") - before
	ended := s.Metric(t, "lakewarden_slow_statements_ended_total")
	t.Logf("another user waited %v and %v turns, %v statements ended", time.Since(start), turns, ended)
	// Those that stalled first stall at the same time, and give all their turns back.
	require.LessOrEqual(t, turns, 13.0)
	for _, stop := range trickling {
		stop()
	}

	require.Eventually(t, func() bool {
		streams, _ := spilled(s, t)
		return streams == 30-ended && s.Metric(t, running) == 0 && s.Metric(t, queued) == 0
	}, time.Minute, 50*time.Millisecond, "nobody reads, and nobody holds a session")
	names, err := os.ReadDir(filepath.Join(s.Config.DataDir, "spill"))
	require.NoError(t, err)
	require.Empty(t, names)

	cut := 0.0
	for i, r := range readers {
		require.NoError(t, r.conn.SetReadDeadline(time.Now().Add(time.Minute)))
		resp, err := http.ReadResponse(r.in, nil)
		var got []byte
		if err == nil {
			require.Equal(t, http.StatusOK, resp.StatusCode)
			got, err = io.ReadAll(resp.Body)
		}
		if err == nil {
			require.True(t, bytes.Equal(want.Body, got), "reader %d", i)
			require.Equal(t, "false", resp.Trailer.Get("X-Truncated"))
		} else {
			cut++
		}
		require.NoError(t, r.conn.Close())
	}
	require.Equal(t, ended, cut, "a stream that ended early does not look complete")
	require.Eventually(t, func() bool {
		streams, bytes := spilled(s, t)
		return streams == 0 && bytes == 0
	}, time.Minute, 10*time.Millisecond)
	s.Quiet(t)
}

// TestEndlessResultsMakeRoom checks that another user gets a turn soon beside thirty slow readers
// of results that are too large ever to be written to files.
func TestEndlessResultsMakeRoom(t *testing.T) {
	s := harness.Start(t, func(c *harness.Settings) { c.MaxRunning, c.Threads, c.Memory, c.Lease = 12, 1, 4096, 256 })
	wide(s)
	greedy, small := s.Member("greedy@acme.example", "admin", nil), s.Member("small@acme.example", "admin", nil)
	point := "SELECT id FROM " + s.Schema + ".wide WHERE id = 1"
	small.Rows(point)
	endless := "SELECT a.text FROM " + s.Schema + ".wide a, " + s.Schema + ".wide b"
	var stops []func()
	for i := range 30 {
		r := send(greedy, t, "POST", "/v1/query", map[string]any{"sql": endless}, "Accept", "text/csv")
		if i%2 == 0 {
			stops = append(stops, r.trickle(100*time.Millisecond))
		}
		stops = append(stops, func() { _ = r.conn.Close() })
	}
	require.Eventually(t, func() bool {
		streams, _ := spilled(s, t)
		return streams >= 3 && s.Metric(t, `lakewarden_sessions{state="queued"}`) > 0
	}, time.Minute, 10*time.Millisecond, "their statements hold all turns, and write to files")
	start, stalls := time.Now(), enginetest.WatchStalls(0)
	require.Equal(t, []any{[]any{1.0}}, small.Rows(point))
	took := time.Since(start) - stalls()
	ended := s.Metric(t, "lakewarden_slow_statements_ended_total")
	for _, stop := range stops {
		stop()
	}
	t.Logf("another user waited %v, %v statements ended", took, ended)
	require.Positive(t, ended, "their statements would not end by themselves")
	require.Less(t, took, 20*time.Second) // a second where the machine has nothing else to do
	s.Quiet(t)
}

// stalled sends a query and waits until it runs no more, though nobody reads.
func stalled(s *harness.Server, t testing.TB, body map[string]any, format string) *reader {
	t.Helper()
	r := send(s.Admin, t, "POST", "/v1/query", body, "Accept", format)
	require.Eventually(t, func() bool {
		streams, _ := spilled(s, t)
		return streams == 1 && s.Metric(t, `lakewarden_sessions{state="running"}`) == 0
	}, time.Minute, 20*time.Millisecond, format)
	return r
}

// TestStalledReaderGetsSameBytes checks every format, including a truncated result and
// a late failure, and that the statement makes no more rows than the reply has.
func TestStalledReaderGetsSameBytes(t *testing.T) {
	s := harness.Start(t, func(c *harness.Settings) { c.Threads = 1 }) // so that rows fail in their order
	sql := wide(s)
	plain := func(text []byte) string { return varying.ReplaceAllString(string(text), "$1") }
	for _, format := range []string{"application/json", "application/x-ndjson", "text/csv", "application/vnd.apache.arrow.stream",
		"application/vnd.apache.parquet"} {
		body := map[string]any{"sql": sql}
		want := s.Admin.Call("POST", "/v1/query", body, "Accept", format)
		require.Equal(t, http.StatusOK, want.Status)
		resp, got, err := stalled(s, t, body, format).rest(t)
		require.NoError(t, err)
		require.Equal(t, want.Header.Get("Content-Type"), resp.Header.Get("Content-Type"))
		if format == "application/vnd.apache.parquet" {
			orderFooter(t, want.Body)
			orderFooter(t, got)
		}
		require.True(t, plain(want.Body) == plain(got), "%s: %d and %d bytes", format, len(want.Body), len(got))
		require.Equal(t, fmt.Sprint(format == "application/json"), resp.Trailer.Get("X-Truncated"))
		if format == "application/json" {
			id := resp.Header.Get("X-Query-Id")
			require.Eventually(t, func() bool { return rowsRead(s, id) > 0 }, time.Minute, 20*time.Millisecond)
			require.Less(t, rowsRead(s, id), 120_000.0, "rows beyond the cut were made")
		}
	}

	broken := map[string]any{"sql": "SELECT id, CASE WHEN id < 140000 THEN text ELSE CAST(CAST(text AS INTEGER) AS VARCHAR) END AS text " +
		"FROM " + s.Schema + ".wide"}
	resp, want, wantErr := send(s.Admin, t, "POST", "/v1/query", broken, "Accept", "application/x-ndjson").rest(t)
	require.Equal(t, http.StatusOK, resp.StatusCode, "%s", want[:min(len(want), 300)])
	_, got, gotErr := stalled(s, t, broken, "application/x-ndjson").rest(t)
	require.ErrorIs(t, wantErr, io.ErrUnexpectedEOF)
	require.ErrorIs(t, gotErr, io.ErrUnexpectedEOF)
	require.Contains(t, string(got[max(0, len(got)-300):]), `"code":"value_error"`)
	require.True(t, plain(want) == plain(got), "%d and %d bytes", len(want), len(got))
}

// orderFooter sorts the bytes of a Parquet file's footer: the library writes a list
// in it in the order of a map, another one each time.
func orderFooter(t testing.TB, file []byte) {
	t.Helper()
	require.Equal(t, "PAR1", string(file[len(file)-4:]))
	end := len(file) - 8
	slices.Sort(file[end-int(binary.LittleEndian.Uint32(file[end:])) : end])
}

// rowsRead is how many rows a statement made, by the audit log, or 0 before it is there.
func rowsRead(s *harness.Server, id string) float64 {
	s.T.Helper()
	audit := s.Admin.OK("GET", "/v1/organisations/"+s.Boot.OrganisationID+"/audit?page_size=100", nil)
	for _, e := range audit["entries"].([]any) {
		entry := e.(map[string]any)
		if entry["resource"] == "query/"+id {
			return entry["details"].(map[string]any)["rows"].(float64)
		}
	}
	return 0
}

// TestFileOfDepartedReaderIsRemoved checks that the file is removed when its client
// leaves.
func TestFileOfDepartedReaderIsRemoved(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, nil)
	r := stalled(s, t, map[string]any{"sql": wide(s)}, "text/csv")
	_, size := spilled(s, t)
	require.Positive(t, size)
	require.NoError(t, r.conn.Close())
	require.Eventually(t, func() bool {
		streams, bytes := spilled(s, t)
		return streams == 0 && bytes == 0
	}, time.Minute, 20*time.Millisecond)
}

// TestStalledReaderWithoutRoomIsCutOff also checks that the session is released.
func TestStalledReaderWithoutRoomIsCutOff(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, func(c *harness.Settings) { c.SpillOrgBytes = 1 })
	r := send(s.Admin, t, "POST", "/v1/query", map[string]any{"sql": wide(s)}, "Accept", "text/csv")
	require.Eventually(t, func() bool { return s.Metric(t, `lakewarden_streams_aborted_total{reason="full"}`) == 1 }, time.Minute,
		20*time.Millisecond)
	s.Quiet(t)
	_, got, err := r.rest(t)
	require.Error(t, err, "%d bytes look complete", len(got))
}
