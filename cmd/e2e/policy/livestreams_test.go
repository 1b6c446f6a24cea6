package policy_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
	"github.com/lakewarden/lakewarden/engine/enginetest"
)

// liveStream is a response that is still being read.
type liveStream struct {
	lines atomic.Int64
	// wait is the pause of the reader, in nanoseconds, after every thousand lines.
	wait  atomic.Int64
	ended chan struct{}
	// What follows is set when ended is closed.
	at   time.Time
	err  error
	last string
}

// startStream starts a statement whose rows come as NDJSON and returns once the first line
// has arrived. The reader pauses for wait after every thousand lines.
func startStream(c *harness.Client, sql string, wait time.Duration) *liveStream {
	c.T.Helper()
	return follow(c, "POST", "/v1/query", map[string]any{"sql": sql}, wait)
}

func follow(c *harness.Client, method, path string, body any, wait time.Duration) *liveStream {
	c.T.Helper()
	resp := openNDJSON(c, method, path, body)
	s := &liveStream{ended: make(chan struct{})}
	s.wait.Store(int64(wait))
	first := make(chan struct{})
	ctx := c.T.Context()
	go func() {
		defer func() { _ = resp.Body.Close() }()
		lines := bufio.NewReaderSize(resp.Body, 64<<10)
		for {
			line, err := lines.ReadString('\n')
			if line != "" {
				s.last = line
				if n := s.lines.Add(1); n == 1 {
					close(first)
				} else if n%1000 == 0 {
					harness.Pause(ctx, time.Duration(s.wait.Load()))
				}
			}
			if err != nil {
				s.err, s.at = err, time.Now()
				close(s.ended)
				return
			}
		}
	}()
	select {
	case <-first:
	case <-s.ended:
		c.T.Fatalf("the stream ended before its first line: %v", s.err)
	}
	return s
}

// openNDJSON makes a request for NDJSON and returns once its status is known.
func openNDJSON(c *harness.Client, method, path string, body any) *http.Response {
	c.T.Helper()
	return openAs(c, harness.Ndjson, method, path, body)
}

func openAs(c *harness.Client, accept, method, path string, body any) *http.Response {
	c.T.Helper()
	var reader io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		require.NoError(c.T, err)
		reader = bytes.NewReader(raw)
	}
	ctx, cancel := context.WithCancel(context.Background())
	c.T.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, method, c.URL+path, reader)
	require.NoError(c.T, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+c.Key)
	req.Header.Set("Accept", accept)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(c.T, err)
	require.Equal(c.T, http.StatusOK, resp.StatusCode)
	return resp
}

// promptly bounds what must happen within a second, with a margin.
const promptly = 4 * time.Second

// promised returns a function that checks that something has happened promptly, not counting the
// time for which the machine delays everything. It is called once.
func promised(t testing.TB) func(what string) {
	t.Helper()
	since, stalls := time.Now(), enginetest.WatchStalls(0)
	return func(what string) {
		t.Helper()
		took, stalled := time.Since(since), stalls()
		t.Logf("%s: after %v (stalls of %v)", what, took, stalled)
		require.Less(t, took-stalled, promptly, what)
	}
}

// broken waits for a stream that must break off, and reports whether its last line names the error:
// a reader that is behind by more than 200 ms does not get that line.
func (s *liveStream) broken(t testing.TB) (told bool) {
	t.Helper()
	select {
	case <-s.ended:
	case <-time.After(time.Minute):
		t.Fatal("the stream goes on")
	}
	require.Error(t, s.err)
	require.False(t, errors.Is(s.err, io.EOF) && !errors.Is(s.err, io.ErrUnexpectedEOF), "the stream looks complete")
	if strings.Contains(s.last, `"error"`) && strings.HasSuffix(s.last, "\n") {
		require.Contains(t, s.last, `"code":"query_cancelled"`)
		return true
	}
	return false
}

// endless are statements that run longer than any test, with their rows or before the
// first one.
func endless(from string) (rows, work string) {
	return "SELECT a.id, b.id AS other, c.region FROM " + from + " a, " + from + " b, " + from + " c",
		"SELECT count(*) FROM " + from + " a, " + from + " b, " + from + " c, " + from + " d WHERE (a.id * b.id + c.id * d.id) % 7 = 3"
}
