package queries

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/lakewarden/lakewarden/api/problem"
	"github.com/lakewarden/lakewarden/api/result"
	"github.com/lakewarden/lakewarden/api/spill"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// statement is a running statement with batches of numbers and a context that a test can
// cancel.
type statement struct {
	batches  int
	ctx      context.Context
	finished atomic.Int64
	closed   atomic.Int64
}

var numbers = arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}}, nil)

func (s *statement) Schema() *arrow.Schema { return numbers }
func (s *statement) Columns() []engine.Column {
	return []engine.Column{{Name: "n", Type: sqltype.BigInt}}
}
func (s *statement) Close() error             { s.closed.Add(1); return nil }
func (s *statement) Finish() error            { s.finished.Add(1); return nil }
func (s *statement) Context() context.Context { return s.ctx }

func (s *statement) Next(context.Context) (arrow.RecordBatch, error) {
	if s.ctx.Err() != nil {
		return nil, context.Cause(s.ctx)
	}
	if s.batches--; s.batches < 0 {
		return nil, io.EOF
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, numbers)
	defer b.Release()
	for i := range int64(2048) {
		b.Field(0).(*array.Int64Builder).Append(i)
	}
	return b.NewRecordBatch(), nil
}

// streamed serves one statement and returns the client's end of the connection, from
// which nothing was read.
func streamed(t *testing.T, s *statement, format result.Format, store *spill.Store) (in *bufio.Reader, ended <-chan struct{}) {
	t.Helper()
	over := make(chan struct{})
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(over)
		r = r.WithContext(problem.WithRequest(r.Context(), "r"))
		streaming{rows: s, spill: store, format: format, elapsed: func() time.Duration { return 0 }}.Write(w, r)
	}))
	server.Config.ErrorLog = nil
	server.Start()
	t.Cleanup(server.Close)
	// A small receive buffer of the client makes the file large.
	dialer := net.Dialer{Control: func(_, _ string, raw syscall.RawConn) (err error) {
		failed := raw.Control(func(fd uintptr) { err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 64<<10) })
		return errors.Join(failed, err)
	}}
	conn, err := dialer.DialContext(t.Context(), "tcp", server.Listener.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(30*time.Second)))
	_, err = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	require.NoError(t, err)
	return bufio.NewReader(conn), over
}

// room returns a store whose responses end within grace.
func room(t *testing.T, grace time.Duration) *spill.Store {
	return spill.New(spill.Options{
		Dir: t.TempDir(), ServerBytes: 1 << 30, OwnerBytes: 1 << 30, Patience: 20 * time.Millisecond, Grace: grace,
	})
}

var errCancelled = &problem.Refusal{Code: "query_cancelled"}

// TestStalledStatementIsFinished checks that a statement is finished once its rows are
// produced, and closed when its client has read them.
func TestStalledStatementIsFinished(t *testing.T) {
	s, store := &statement{batches: 1000, ctx: t.Context()}, room(t, time.Minute)
	in, ended := streamed(t, s, result.NDJSON, store)
	require.Eventually(t, func() bool { return s.finished.Load() > 0 }, time.Minute, time.Millisecond)
	require.Zero(t, s.closed.Load())
	used, files := store.Used()
	require.Positive(t, used)
	require.Equal(t, 1, files)
	resp, err := http.ReadResponse(in, nil)
	require.NoError(t, err)
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, 1000*2048, bytes.Count(text, []byte("\n")))
	<-ended
	require.EqualValues(t, 1, s.closed.Load())
	used, files = store.Used()
	require.Zero(t, used)
	require.Zero(t, files)
}

// TestRevokedRowsInFileAreNotSent checks that rows which may no longer be shown are not
// sent, even if all of them were produced in time.
func TestRevokedRowsInFileAreNotSent(t *testing.T) {
	for _, format := range []result.Format{result.NDJSON, result.CSV, result.Arrow} {
		ctx, revoke := context.WithCancelCause(context.Background())
		s, store := &statement{batches: 1000, ctx: ctx}, room(t, time.Minute)
		in, ended := streamed(t, s, format, store)
		require.Eventually(t, func() bool { return s.finished.Load() > 0 }, time.Minute, time.Millisecond)
		resp, err := http.ReadResponse(in, nil)
		require.NoError(t, err)
		size, _ := store.Used()
		head := make([]byte, 1<<20)
		_, err = io.ReadFull(resp.Body, head)
		require.NoError(t, err)
		revoke(errCancelled)
		rest, err := io.ReadAll(resp.Body)
		require.ErrorIs(t, err, io.ErrUnexpectedEOF, "the connection is aborted")
		require.Less(t, int64(len(rest)), size/2, "half of the file is not sent")
		<-ended
		used, _ := store.Used()
		require.Zero(t, used)
		if format == result.NDJSON {
			requireFailLine(t, append(head, rest...))
		}
	}
}

// requireFailLine checks that every line is a row except the last, which names the
// cancellation.
func requireFailLine(t *testing.T, text []byte) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	for i, line := range lines {
		var row struct {
			N     *int64
			Error *struct{ Code string }
		}
		require.NoError(t, json.Unmarshal([]byte(line), &row), "line %d", i)
		if i < len(lines)-1 {
			require.NotNil(t, row.N, "line %d of %d: %s, then %s", i, len(lines), line, lines[i+1])
			continue
		}
		require.NotNil(t, row.Error)
		require.Equal(t, "query_cancelled", row.Error.Code)
	}
}

// TestRevokedStalledClientIsCutOff checks that a client which reads nothing is cut off
// soon.
func TestRevokedStalledClientIsCutOff(t *testing.T) {
	ctx, revoke := context.WithCancelCause(context.Background())
	s, store := &statement{batches: 1000, ctx: ctx}, room(t, 0)
	_, ended := streamed(t, s, result.NDJSON, store)
	require.Eventually(t, func() bool { return s.finished.Load() > 0 }, time.Minute, time.Millisecond)
	revoke(errCancelled)
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Fatal("the response goes on")
	}
}

// TestRevokedRunningStatement checks that a statement ends with a status before its
// first byte, and with a last line after it.
func TestRevokedRunningStatement(t *testing.T) {
	ctx, revoke := context.WithCancelCause(context.Background())
	revoke(errCancelled)
	in, _ := streamed(t, &statement{batches: 10, ctx: ctx}, result.NDJSON, room(t, time.Minute))
	resp, err := http.ReadResponse(in, nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusConflict, resp.StatusCode)

	ctx, revoke = context.WithCancelCause(context.Background())
	full := spill.New(spill.Options{Grace: time.Minute}) // no space: it is never stalled
	in, _ = streamed(t, &statement{batches: 1 << 30, ctx: ctx}, result.NDJSON, full)
	resp, err = http.ReadResponse(in, nil)
	require.NoError(t, err)
	head := make([]byte, 4<<20)
	_, err = io.ReadFull(resp.Body, head)
	require.NoError(t, err)
	revoke(errCancelled)
	rest, err := io.ReadAll(resp.Body)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	requireFailLine(t, append(head, rest...))
}

// lost is a statement whose process is lost before its first row.
type lost struct {
	*statement
	next []error // of the calls of Next, then those of the statement
	// again is the error of the restart; nil if it succeeds.
	again error
}

func (l *lost) Next(ctx context.Context) (arrow.RecordBatch, error) {
	if len(l.next) == 0 {
		return l.statement.Next(ctx)
	}
	err := l.next[0]
	l.next = l.next[1:]
	return nil, err
}

func (l *lost) Again() (bool, error) { return l.again == nil, l.again }

// TestALostStatementAnswersWithItsSecondTry checks that the reply holds the rows of the
// second attempt, or the error with which it did not start.
func TestALostStatementAnswersWithItsSecondTry(t *testing.T) {
	answer := func(again error) *httptest.ResponseRecorder {
		rows := &lost{statement: &statement{batches: 1, ctx: t.Context()}, next: []error{&problem.Refusal{Code: "unavailable"}}, again: again}
		w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(problem.WithRequest(t.Context(), "r"), http.MethodGet, "/", nil)
		streaming{rows: rows, spill: room(t, time.Minute), format: result.NDJSON, elapsed: func() time.Duration { return 0 }}.Write(w, r)
		require.EqualValues(t, 1, rows.closed.Load())
		return w
	}
	require.Equal(t, http.StatusOK, answer(nil).Code)
	w := answer(errCancelled)
	require.Equal(t, http.StatusConflict, w.Code, w.Body)
	require.Contains(t, w.Body.String(), "query_cancelled")
}
