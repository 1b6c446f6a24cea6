package worker_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/enginetest"
)

// uninterruptible is a statement during which DuckDB does not look for an
// interrupt.
const uninterruptible = "SELECT levenshtein(repeat('a', 150000 + range::INTEGER), repeat('b', 150000)) FROM range(1)"

// endlessRows never ends and never pauses.
const endlessRows = "SELECT range FROM range(1000000000000)"

// slack is what a bound allows in addition to the grace of a process and the delays of the machine.
const slack = 3 * time.Second

func TestKilledInTheMiddleOfAStream(t *testing.T) {
	e := newEngine(t, bareOptions())
	other := open(t, e, "b")
	survivor := pids(t, e, 1)[0]
	victim, sibling := open(t, e, "a"), open(t, e, "a")
	pid := slices.DeleteFunc(pids(t, e, 2), func(pid int) bool { return pid == survivor })[0]
	r, err := victim.Query(context.Background(), engine.Statement{SQL: endlessRows})
	require.NoError(t, err)
	batch, err := r.Next(context.Background())
	require.NoError(t, err)
	batch.Release()
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	for err == nil {
		batch, err = r.Next(context.Background())
		if err == nil {
			batch.Release()
		}
	}
	require.NotErrorIs(t, err, io.EOF)
	require.ErrorIs(t, err, engine.ErrFatal)
	_, err = r.Next(context.Background())
	require.ErrorIs(t, err, engine.ErrFatal, "a failure stays a failure")
	require.NoError(t, r.Close())
	require.True(t, victim.Broken())
	_, err = victim.Query(context.Background(), engine.Statement{SQL: "SELECT 1"})
	require.ErrorIs(t, err, engine.ErrFatal)
	gone(t, pid)

	require.False(t, sibling.Broken(), "it ran nothing, so it lost nothing")
	alive(t, sibling)
	alive(t, other)
	alive(t, open(t, e, "a"))
	require.Len(t, pids(t, e, 2), 2)
}

func TestStatementThatIgnoresItsInterrupt(t *testing.T) {
	for name, c := range map[string]struct {
		lease engine.Lease
		want  error
	}{
		"cancelled": {engine.Lease{}, engine.ErrInterrupted},
		"timed out": {engine.Lease{Timeout: 200 * time.Millisecond}, engine.ErrTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, bareOptions())
			s := open(t, e, "a")
			alive(t, s)
			pid := pids(t, e, 1)[0]
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			if c.lease.Timeout == 0 {
				time.AfterFunc(200*time.Millisecond, cancel)
			}
			start, stalls := time.Now(), enginetest.WatchStalls(0)
			_, err := enginetest.TryRows(ctx, s, engine.Statement{SQL: uninterruptible, Lease: c.lease})
			took := time.Since(start) - stalls()
			require.ErrorIs(t, err, c.want)
			require.Less(t, took, 1200*time.Millisecond+slack)
			require.True(t, s.Broken())
			gone(t, pid)
			start = time.Now()
			alive(t, open(t, e, "a"))
			t.Logf("stopped after %v, a new session after %v", took, time.Since(start))
		})
	}
}

func TestClosingWhatIgnoresItsInterrupt(t *testing.T) {
	e := newEngine(t, bareOptions())
	s := open(t, e, "a")
	failed := make(chan error, 1)
	go func() {
		_, err := enginetest.TryRows(context.Background(), s, engine.Statement{SQL: uninterruptible})
		failed <- err
	}()
	time.AfterFunc(500*time.Millisecond, func() { _ = s.Close() })
	require.ErrorIs(t, <-failed, engine.ErrInterrupted)
}

// TestStoppedProcess is a child that can do nothing at all any more.
func TestStoppedProcess(t *testing.T) {
	e := newEngine(t, bareOptions())
	s := open(t, e, "a")
	pid := pids(t, e, 1)[0]
	require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
	ctx, cancel := context.WithTimeout(context.Background(), time.Second) // the statement is sent by then
	defer cancel()
	start, stalls := time.Now(), enginetest.WatchStalls(0)
	_, err := s.Query(ctx, engine.Statement{SQL: "SELECT 1"})
	took := time.Since(start) - stalls()
	require.ErrorIs(t, err, engine.ErrInterrupted)
	require.Less(t, took, 2*time.Second+slack)
	gone(t, pid)
}

// TestStoppedProcessThatTakesNothing is one whose socket is full before the whole
// statement is in it.
func TestStoppedProcessThatTakesNothing(t *testing.T) {
	large := engine.Statement{SQL: "SELECT 1 --" + strings.Repeat(" ", 32<<20)}
	for name, end := range map[string]func(cancel func(), s engine.Session){
		"cancelled": func(cancel func(), _ engine.Session) { cancel() },
		"closed":    func(_ func(), s engine.Session) { _ = s.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, bareOptions())
			s := open(t, e, "a")
			pid := pids(t, e, 1)[0]
			require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			failed := make(chan error, 1)
			go func() {
				_, err := s.Query(ctx, large)
				failed <- err
			}()
			time.AfterFunc(500*time.Millisecond, func() { end(cancel, s) })
			select {
			case err := <-failed:
				require.ErrorIs(t, err, engine.ErrInterrupted)
			case <-time.After(time.Minute):
				require.NoError(t, syscall.Kill(pid, syscall.SIGKILL)) // so that the test ends
				t.Fatal("the statement was not given up")
			}
			gone(t, pid)
		})
	}
}

// TestSlowReaderIsNotTheChildsFault: a child that waits for its rows to be read
// cannot answer a cancellation, and must live.
func TestSlowReaderIsNotTheChildsFault(t *testing.T) {
	opts := bareOptions()
	opts.Grace = 100 * time.Millisecond
	e := newEngine(t, opts)
	s := open(t, e, "a")
	pid := pids(t, e, 1)[0]
	ctx, cancel := context.WithCancel(context.Background())
	r, err := s.Query(ctx, engine.Statement{SQL: endlessRows})
	require.NoError(t, err)
	batch, err := r.Next(ctx)
	require.NoError(t, err)
	batch.Release()
	cancel()
	require.Never(t, func() bool { return len(pidsOf(e)) == 0 }, 500*time.Millisecond, 20*time.Millisecond)
	_, err = r.Next(context.Background())
	require.ErrorIs(t, err, engine.ErrInterrupted)
	require.NoError(t, r.Close())
	alive(t, s)
	require.Equal(t, []int{pid}, pids(t, e, 1))
}

func TestMemoryAboveTheLease(t *testing.T) {
	const lease = 512 << 20
	opts := bareOptions()
	e := newEngine(t, opts)
	s := open(t, e, "a")
	alive(t, s)
	pid := pids(t, e, 1)[0]
	most := watchResident(t, pid)
	_, err := enginetest.TryRows(context.Background(), s, engine.Statement{
		SQL:   "SELECT length(repeat('a', 4000000000 + range)) FROM range(1)",
		Lease: engine.Lease{Memory: lease, Threads: 1},
	})
	require.ErrorIs(t, err, engine.ErrOutOfMemory, "%+v", err)
	gone(t, pid)
	t.Logf("at most %d MB", most()>>20)
	require.Less(t, most(), int64(4000000000), "it was stopped on the way")
	alive(t, open(t, e, "a"))
}

// watchResident samples the memory of a process until it has ended.
func watchResident(t *testing.T, pid int) func() int64 {
	done := make(chan struct{})
	var most int64
	go func() {
		defer close(done)
		for {
			text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
			fields := strings.Fields(string(text))
			if err != nil || len(fields) < 2 {
				return
			}
			pages, _ := strconv.ParseInt(fields[1], 10, 64)
			most = max(most, pages*int64(os.Getpagesize()))
		}
	}()
	return func() int64 {
		<-done
		return most
	}
}

// TestKillLoop kills the process of one owner a hundred times under load. The
// other owner's statements all succeed.
func TestKillLoop(t *testing.T) {
	const kills = 100
	temp := t.TempDir()
	opts := bareOptions()
	opts.TempDir = temp
	e := newEngine(t, opts)
	other := open(t, e, "other")
	alive(t, other)
	survivor := pids(t, e, 1)[0]
	stop := make(chan struct{})
	var load sync.WaitGroup
	var slowest, statements = time.Duration(0), 0
	var failed error
	load.Go(func() {
		for failed == nil {
			select {
			case <-stop:
				return
			default:
			}
			start := time.Now()
			_, failed = enginetest.TryRows(context.Background(), other, engine.Statement{SQL: "SELECT sum(range) FROM range(10000)"})
			slowest = max(slowest, time.Since(start))
			statements++
		}
	})
	var files int
	var restart time.Duration
	for i := range kills {
		start := time.Now()
		s, err := e.Open(context.Background(), engine.SessionOptions{Owner: "victim"})
		require.NoError(t, err)
		r, err := s.Query(context.Background(), engine.Statement{SQL: endlessRows})
		require.NoError(t, err)
		restart = max(restart, time.Since(start))
		for _, pid := range pidsOf(e) {
			if pid != survivor {
				require.NoError(t, syscall.Kill(pid, []syscall.Signal{syscall.SIGKILL, syscall.SIGSEGV, syscall.SIGABRT}[i%3]))
			}
		}
		for err == nil {
			batch, next := r.Next(context.Background())
			if err = next; err == nil {
				batch.Release()
			}
		}
		require.ErrorIs(t, err, engine.ErrFatal, "kill %d", i)
		require.NoError(t, r.Close())
		require.NoError(t, s.Close())
		if i == 10 {
			files = openFiles(t)
		}
	}
	close(stop)
	load.Wait()
	require.NoError(t, failed)
	require.Eventually(t, func() bool { return slices.Equal(pidsOf(e), []int{survivor}) }, time.Minute, time.Millisecond)
	require.LessOrEqual(t, openFiles(t), files+4, "file descriptors leak")
	t.Logf("%d statements beside %d kills, the slowest took %v; the slowest new session %v", statements, kills, slowest, restart)
	require.Greater(t, statements, kills)
	require.NoError(t, e.Close())
	left, err := os.ReadDir(temp)
	require.NoError(t, err)
	require.Empty(t, left, "temporary files stayed")
}

func openFiles(t *testing.T) int {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(files)
}

func TestProcessThatDoesNotStart(t *testing.T) {
	for _, setup := range []string{"exit", "refuse"} {
		t.Run(setup, func(t *testing.T) {
			opts := bareOptions()
			opts.Setup = []byte(setup)
			e := newEngine(t, opts)
			for range 4 {
				_, err := e.Open(context.Background(), engine.SessionOptions{})
				require.ErrorIs(t, err, engine.ErrFatal)
			}
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
			defer cancel()
			_, err := e.Open(ctx, engine.SessionOptions{})
			require.Error(t, err)
			require.Empty(t, pidsOf(e))
		})
	}
	t.Run("no program", func(t *testing.T) {
		e := newEngine(t, optionsFor(fmt.Sprintf("%s/nothing", t.TempDir())))
		_, err := e.Open(context.Background(), engine.SessionOptions{})
		require.ErrorIs(t, err, engine.ErrFatal)
		var own *engine.Error
		require.True(t, errors.As(err, &own))
		require.Equal(t, "worker_start", own.Class)
	})
}
