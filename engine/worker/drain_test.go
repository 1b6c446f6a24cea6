package worker_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/enginetest"
	"github.com/lakewarden/lakewarden/engine/worker"
)

// drainOptions use a short grace period, because draining begins after it.
func drainOptions() worker.Options {
	opts := bareOptions()
	opts.Grace = 200 * time.Millisecond
	return opts
}

const streamedRows = 3_000_000

// stream starts a long result and reads its first batch.
func stream(t *testing.T, s engine.Session, lease engine.Lease) (r engine.Result, rows int64) {
	t.Helper()
	r, err := s.Query(context.Background(), engine.Statement{SQL: "SELECT range FROM range(3000000)", Lease: lease})
	require.NoError(t, err)
	batch, err := r.Next(context.Background())
	require.NoError(t, err)
	defer batch.Release()
	return r, batch.NumRows()
}

// finish reads the rest of a result and returns the number of its rows.
func finish(r engine.Result) (rows int64, err error) {
	for {
		batch, err := r.Next(context.Background())
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return rows, errors.Join(err, r.Close())
		}
		rows += batch.NumRows()
		batch.Release()
	}
}

// hang runs a statement that ignores its interrupt, and returns when its caller has
// the answer.
func hang(t *testing.T, s engine.Session, lease engine.Lease) {
	t.Helper()
	lease.Timeout = 500 * time.Millisecond
	start, stalls := time.Now(), enginetest.WatchStalls(0)
	_, err := enginetest.TryRows(context.Background(), s, engine.Statement{SQL: uninterruptible, Lease: lease})
	took := time.Since(start) - stalls()
	require.ErrorIs(t, err, engine.ErrTimeout)
	require.Less(t, took, 700*time.Millisecond+slack)
	require.True(t, s.Broken())
}

// TestStreamsNextToUnresponsiveStatement checks that running streams complete, that
// new statements run in a fresh process, and that the old process ends with the last
// stream.
func TestStreamsNextToUnresponsiveStatement(t *testing.T) {
	e := newEngine(t, drainOptions())
	reader, culprit, idle := open(t, e, "a"), open(t, e, "a"), open(t, e, "a")
	alive(t, idle)
	old := pids(t, e, 1)[0]
	r, before := stream(t, reader, engine.Lease{})
	hang(t, culprit, engine.Lease{})

	require.Equal(t, []int{old}, pids(t, e, 1), "it lives for the stream")
	alive(t, idle)
	alive(t, open(t, e, "a"))
	now := pids(t, e, 2)
	require.Contains(t, now, old)
	require.NoError(t, culprit.Close())

	rest, err := finish(r)
	require.NoError(t, err)
	require.EqualValues(t, streamedRows, before+rest)
	gone(t, old)
	alive(t, idle)
	alive(t, reader)
	require.Equal(t, slices.DeleteFunc(now, func(pid int) bool { return pid == old }), pids(t, e, 1), "the fresh one serves on")
}

// TestUnresponsiveStatementKeepsItsMemory checks that the statement's memory and a
// reserve are not lent again while its process lives, and that the rest of its lease
// is.
func TestUnresponsiveStatementKeepsItsMemory(t *testing.T) {
	const reserve, lease = 128 << 20, 1024 << 20
	e := newEngine(t, drainOptions())
	reader, culprit := open(t, e, "a"), open(t, e, "a")
	r, _ := stream(t, reader, engine.Lease{Memory: 128 << 20})
	old := pids(t, e, 1)[0]
	before := e.Overhead(nil)
	hang(t, culprit, engine.Lease{Memory: lease})
	require.NoError(t, culprit.Close())
	held := e.Overhead(nil)
	require.GreaterOrEqual(t, held, before+reserve)
	require.Less(t, held, int64(lease))
	require.Greater(t, e.Overhead([]string{"a"}), held, "the next statement of its owner starts a process")
	_, err := finish(r)
	require.NoError(t, err)
	gone(t, old)
	require.Eventually(t, func() bool { return e.Overhead(nil) < reserve }, time.Minute, time.Millisecond)
}

// TestDrainingProcessThatBreaks checks that the remaining statement is not blamed and
// may be tried again.
func TestDrainingProcessThatBreaks(t *testing.T) {
	e := newEngine(t, drainOptions())
	reader, culprit := open(t, e, "a"), open(t, e, "a")
	r, _ := stream(t, reader, engine.Lease{})
	hang(t, culprit, engine.Lease{})
	require.NoError(t, syscall.Kill(pids(t, e, 1)[0], syscall.SIGSEGV))
	err := broken(t, r)
	require.ErrorIs(t, err, engine.ErrLost)
	require.NotErrorIs(t, err, engine.ErrCrashed)
}

// TestDrainingProcessAboveItsMemory checks that the process is killed like any other.
// The remaining statement may be tried again, because it is unknown whose memory it
// was.
func TestDrainingProcessAboveItsMemory(t *testing.T) {
	e := newEngine(t, drainOptions())
	reader, culprit := open(t, e, "a"), open(t, e, "a")
	r, err := reader.Query(context.Background(), engine.Statement{
		SQL:   "SELECT range FROM range(3000000) UNION ALL SELECT length(repeat('a', 4000000000 + range)) FROM range(1)",
		Lease: engine.Lease{Memory: 128 << 20, Threads: 1},
	})
	require.NoError(t, err)
	hang(t, culprit, engine.Lease{Memory: 128 << 20})
	old := pids(t, e, 1)[0]
	require.ErrorIs(t, broken(t, r), engine.ErrLost)
	gone(t, old)
}

// TestDrainingProcessesAreLimited checks that the oldest process above the limit ends
// at once.
func TestDrainingProcessesAreLimited(t *testing.T) {
	opts := drainOptions()
	opts.MaxDraining = 1
	e := newEngine(t, opts)
	first, _ := stream(t, open(t, e, "a"), engine.Lease{})
	old := pids(t, e, 1)[0]
	hang(t, open(t, e, "a"), engine.Lease{})
	other, _ := stream(t, open(t, e, "b"), engine.Lease{})
	hang(t, open(t, e, "b"), engine.Lease{})
	require.Contains(t, pids(t, e, 2), old, "another owner's does not count")
	second, before := stream(t, open(t, e, "a"), engine.Lease{})
	hang(t, open(t, e, "a"), engine.Lease{})
	gone(t, old)
	require.ErrorIs(t, broken(t, first), engine.ErrLost)
	for _, r := range []engine.Result{second, other} {
		rest, err := finish(r)
		require.NoError(t, err)
		require.EqualValues(t, streamedRows, before+rest)
	}
	require.Eventually(t, func() bool { return len(pidsOf(e)) == 0 }, time.Minute, time.Millisecond)
}

// TestDeadlinesEndADrainingProcess includes the deadline of a result that is not read.
func TestDeadlinesEndADrainingProcess(t *testing.T) {
	e := newEngine(t, drainOptions())
	alive(t, open(t, e, "a"))
	old := pids(t, e, 1)[0]
	r, _ := stream(t, open(t, e, "a"), engine.Lease{Timeout: 10 * time.Second})
	hang(t, open(t, e, "a"), engine.Lease{})
	require.NoError(t, syscall.Kill(old, syscall.SIGSTOP), "from now on it answers nothing at all")
	require.Equal(t, []int{old}, pids(t, e, 1))
	_, err := finish(r)
	require.ErrorIs(t, err, engine.ErrTimeout)
	gone(t, old)
	alive(t, open(t, e, "a"))
}

// TestIdleSessionsOfAStoppedProcess checks that idle sessions do not wait for the
// process.
func TestIdleSessionsOfAStoppedProcess(t *testing.T) {
	e := newEngine(t, drainOptions())
	idle := open(t, e, "a")
	alive(t, idle)
	old := pids(t, e, 1)[0]
	r, _ := stream(t, open(t, e, "a"), engine.Lease{})
	hang(t, open(t, e, "a"), engine.Lease{})
	require.NoError(t, syscall.Kill(old, syscall.SIGSTOP))
	alive(t, idle)
	require.NoError(t, syscall.Kill(old, syscall.SIGCONT))
	_, err := finish(r)
	require.NoError(t, err)
	gone(t, old)
}
