package main

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
)

// wide makes a table whose rows, in any format, are more than connections buffer.
func (s *testServer) wide() string {
	s.t.Helper()
	s.table("wide", "SELECT i AS id, md5(i::VARCHAR) || md5((-i)::VARCHAR) AS text FROM range(150000) t(i)", nil, column{"id", "long"}, column{"text", "string"})
	return "SELECT id, text FROM " + s.schema + ".wide"
}

// reader is a client that decides when it reads. Its system buffers little.
type reader struct {
	conn net.Conn
	in   *bufio.Reader
}

// send makes a request and reads nothing of the reply.
func (c *client) send(t testing.TB, method, path string, body any, header ...string) *reader {
	t.Helper()
	dialer := net.Dialer{Control: func(_, _ string, raw syscall.RawConn) (err error) {
		if failed := raw.Control(func(fd uintptr) { err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4096) }); failed != nil {
			return failed
		}
		return err
	}}
	conn, err := dialer.DialContext(t.Context(), "tcp", strings.TrimPrefix(c.url, "http://"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	raw, err := json.Marshal(body)
	require.NoError(t, err)
	req, err := http.NewRequest(method, c.url+path, bytes.NewReader(raw))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+c.key)
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

func (s *testServer) spilled(t testing.TB) (streams, bytes float64) {
	return s.metric(t, "lakewarden_spilled_streams"), s.metric(t, "lakewarden_spilled_bytes")
}

// TestStalledReadersGiveTheirSessionsBack checks that thirty clients of one user which
// read nothing delay another user by only a few turns, and that each gets its whole
// result when it reads.
func TestStalledReadersGiveTheirSessionsBack(t *testing.T) {
	s := startServer(t, func(c *settings) { c.MaxRunning, c.Threads = 12, 1 })
	sql := s.wide()
	greedy, small := s.member("greedy@acme.example", "admin", nil), s.member("small@acme.example", "admin", nil)
	arrow := []string{"Accept", "application/vnd.apache.arrow.stream"}
	want := greedy.call("POST", "/v1/query", map[string]any{"sql": sql}, arrow...)
	require.Equal(t, http.StatusOK, want.status)

	readers := make([]*reader, 30)
	for i := range readers {
		readers[i] = greedy.send(t, "POST", "/v1/query", map[string]any{"sql": sql}, arrow...)
	}
	const running, queued = `lakewarden_sessions{state="running"}`, `lakewarden_sessions{state="queued"}`
	require.Eventually(t, func() bool { return s.metric(t, queued) >= 15 }, 30*time.Second, 10*time.Millisecond, "they fill the server")
	before := s.metric(t, "lakewarden_session_queue_seconds_count")
	start := time.Now()
	require.Equal(t, []any{[]any{1.0}}, small.rows("SELECT id FROM "+s.schema+".wide WHERE id = 1"))
	turns := s.metric(t, "lakewarden_session_queue_seconds_count") - before
	t.Logf("another user waited %v and %v turns", time.Since(start), turns)
	// Those that stalled first stall at the same time, and give all their turns back.
	require.LessOrEqual(t, turns, 13.0)

	require.Eventually(t, func() bool {
		streams, _ := s.spilled(t)
		return streams == 30 && s.metric(t, running) == 0 && s.metric(t, queued) == 0
	}, 60*time.Second, 50*time.Millisecond, "nobody reads, and nobody holds a session")
	names, err := os.ReadDir(filepath.Join(s.config.DataDir, "spill"))
	require.NoError(t, err)
	require.Empty(t, names)

	for i, r := range readers {
		resp, got, err := r.rest(t)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, resp.StatusCode)
		require.True(t, bytes.Equal(want.body, got), "reader %d", i)
		require.Equal(t, "false", resp.Trailer.Get("X-Truncated"))
		require.NoError(t, r.conn.Close())
	}
	require.Eventually(t, func() bool {
		streams, bytes := s.spilled(t)
		return streams == 0 && bytes == 0
	}, 10*time.Second, 10*time.Millisecond)
	s.quiet(t)
}

// stalled sends a query and waits until it runs no more, though nobody reads.
func (s *testServer) stalled(t testing.TB, body map[string]any, format string) *reader {
	t.Helper()
	r := s.admin.send(t, "POST", "/v1/query", body, "Accept", format)
	require.Eventually(t, func() bool {
		streams, _ := s.spilled(t)
		return streams == 1 && s.metric(t, `lakewarden_sessions{state="running"}`) == 0
	}, 30*time.Second, 20*time.Millisecond, format)
	return r
}

// TestStalledReaderGetsSameBytes checks every format, including a truncated result and
// a late failure, and that the statement makes no more rows than the reply has.
func TestStalledReaderGetsSameBytes(t *testing.T) {
	s := startServer(t, func(c *settings) { c.Threads = 1 }) // so that rows fail in their order
	sql := s.wide()
	plain := func(text []byte) string { return varying.ReplaceAllString(string(text), "$1") }
	for _, format := range []string{"application/json", "application/x-ndjson", "text/csv", "application/vnd.apache.arrow.stream", "application/vnd.apache.parquet"} {
		body := map[string]any{"sql": sql}
		want := s.admin.call("POST", "/v1/query", body, "Accept", format)
		require.Equal(t, http.StatusOK, want.status)
		resp, got, err := s.stalled(t, body, format).rest(t)
		require.NoError(t, err)
		require.Equal(t, want.header.Get("Content-Type"), resp.Header.Get("Content-Type"))
		if format == "application/vnd.apache.parquet" {
			orderFooter(t, want.body)
			orderFooter(t, got)
		}
		require.True(t, plain(want.body) == plain(got), "%s: %d and %d bytes", format, len(want.body), len(got))
		require.Equal(t, fmt.Sprint(format == "application/json"), resp.Trailer.Get("X-Truncated"))
		if format == "application/json" {
			id := resp.Header.Get("X-Query-Id")
			require.Eventually(t, func() bool { return s.rowsOf(id) > 0 }, 10*time.Second, 20*time.Millisecond)
			require.Less(t, s.rowsOf(id), 120_000.0, "rows beyond the cut were made")
		}
	}

	broken := map[string]any{"sql": "SELECT id, CASE WHEN id < 140000 THEN text ELSE CAST(CAST(text AS INTEGER) AS VARCHAR) END AS text FROM " + s.schema + ".wide"}
	resp, want, wantErr := s.admin.send(t, "POST", "/v1/query", broken, "Accept", "application/x-ndjson").rest(t)
	require.Equal(t, http.StatusOK, resp.StatusCode, "%s", want[:min(len(want), 300)])
	_, got, gotErr := s.stalled(t, broken, "application/x-ndjson").rest(t)
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

// rowsOf is how many rows a statement made, by the audit log, or 0 before it is there.
func (s *testServer) rowsOf(id string) float64 {
	s.t.Helper()
	audit := s.admin.ok("GET", "/v1/organisations/"+s.boot.OrganisationID+"/audit?page_size=100", nil)
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
	s := startServer(t, nil)
	r := s.stalled(t, map[string]any{"sql": s.wide()}, "text/csv")
	_, size := s.spilled(t)
	require.Positive(t, size)
	require.NoError(t, r.conn.Close())
	require.Eventually(t, func() bool {
		streams, bytes := s.spilled(t)
		return streams == 0 && bytes == 0
	}, 10*time.Second, 20*time.Millisecond)
}

// TestStalledReaderWithoutRoomIsCutOff also checks that the session is released.
func TestStalledReaderWithoutRoomIsCutOff(t *testing.T) {
	s := startServer(t, func(c *settings) { c.SpillOrgBytes = 1 })
	r := s.admin.send(t, "POST", "/v1/query", map[string]any{"sql": s.wide()}, "Accept", "text/csv")
	require.Eventually(t, func() bool { return s.metric(t, `lakewarden_streams_aborted_total{reason="full"}`) == 1 }, 30*time.Second, 20*time.Millisecond)
	s.quiet(t)
	_, got, err := r.rest(t)
	require.Error(t, err, "%d bytes look complete", len(got))
}
