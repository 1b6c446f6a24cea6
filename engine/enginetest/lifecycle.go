package enginetest

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
)

// cycles is the number of sessions that the leak test opens and closes.
const cycles = 200

func (s suite) lifecycle(t *testing.T) {
	t.Run("NothingLeaks", s.nothingLeaks)
	t.Run("ManySessionsAtOnce", s.manySessions)
	t.Run("CloseWhileRunning", s.closeWhileRunning)
	t.Run("CloseWhileReading", s.closeWhileReading)
	t.Run("EngineCloseStopsAll", s.engineClose)
	t.Run("OneStatementAtATime", func(t *testing.T) {
		session := s.open(t)
		r, err := session.Query(context.Background(), engine.Statement{SQL: "SELECT range FROM range(1000000)"})
		require.NoError(t, withText(err))
		_, err = session.Query(context.Background(), engine.Statement{SQL: "SELECT 1"})
		require.Error(t, err)
		require.NoError(t, r.Close())
		alive(t, session)
	})
	t.Run("ClosedSession", func(t *testing.T) {
		session := s.open(t)
		alive(t, session)
		require.NoError(t, session.Close())
		require.NoError(t, session.Close(), "closing twice")
		_, err := session.Query(context.Background(), engine.Statement{SQL: "SELECT 1"})
		require.ErrorIs(t, err, engine.ErrInterrupted)
		require.NoError(t, session.Idle(context.Background(), 0))
		require.False(t, session.Broken())
	})
	t.Run("ClosedEngine", func(t *testing.T) {
		e := s.newEngine(t)
		require.NoError(t, e.Close())
		require.NoError(t, e.Close(), "closing twice")
		_, err := e.Open(context.Background(), engine.SessionOptions{})
		require.Error(t, err)
	})
}

func (s suite) nothingLeaks(t *testing.T) {
	root := t.TempDir()
	table := NewTable(t, root, "t")
	table.Append(t, 0, 100)
	src := table.Latest()
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	e := s.newEngine(t)
	cycle := func(i int) {
		session, err := e.Open(context.Background(), engine.SessionOptions{Roots: []string{root}})
		require.NoError(t, err)
		b := engine.Barrier{Name: "flt_" + strconv.Itoa(i), SQL: "SELECT id FROM " + src.Relation(), Source: src}
		r, err := session.Query(context.Background(), engine.Statement{
			SQL: "SELECT x.range FROM " + b.Relation() + ", range(100000) x", Barriers: []engine.Barrier{b}})
		require.NoError(t, withText(err))
		batch, err := r.Next(context.Background())
		require.NoError(t, withText(err))
		batch.Release()
		// The three orders of closing: result first, session first, session alone.
		switch i % 3 {
		case 0:
			require.NoError(t, r.Close())
			require.NoError(t, session.Close())
		case 1:
			require.NoError(t, session.Close())
			require.NoError(t, r.Close())
		case 2:
			require.NoError(t, session.Close())
		}
	}
	for i := range 10 {
		cycle(i)
	}
	before := countResources(t)
	for i := range cycles {
		cycle(i)
	}
	require.Eventually(t, func() bool {
		now := countResources(t)
		// Eventually itself uses two goroutines, and a busy machine needs a few more threads.
		return now.goroutines <= before.goroutines+2 && now.files <= before.files && now.threads <= before.threads+16
	}, time.Minute, 20*time.Millisecond, "before %+v, now %+v", before, countResources(t))
	require.NoError(t, e.Close())
	left, err := os.ReadDir(temp)
	require.NoError(t, err)
	require.Empty(t, left, "temporary files remain")
}

type counts struct{ goroutines, files, threads int }

// countResources counts the resources of this process that a leak would keep.
func countResources(t *testing.T) counts {
	c := counts{goroutines: runtime.NumGoroutine()}
	if runtime.GOOS != "linux" {
		return c
	}
	files, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	threads, err := os.ReadDir("/proc/self/task")
	require.NoError(t, err)
	c.files, c.threads = len(files), len(threads)
	return c
}

func (s suite) manySessions(t *testing.T) {
	root := t.TempDir()
	table := NewTable(t, root, "t")
	table.Append(t, 0, 1000)
	src := table.Latest()
	e := s.newEngine(t)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	errs := make([]error, 8)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			errs[i] = func() error {
				session, err := e.Open(context.Background(), engine.SessionOptions{Roots: []string{root}})
				if err != nil {
					return err
				}
				defer session.Close()
				for range 10 {
					got, err := TryRows(context.Background(), session, engine.Statement{
						SQL:     "SELECT count(*) FROM " + src.Relation() + " WHERE id < $1",
						Args:    engine.Args{Positional: []any{int64(i * 100)}},
						Sources: []engine.Source{src},
						Lease:   engine.Lease{Memory: 128 << 20, Threads: 1 + i%2},
					})
					if err != nil {
						return withText(err)
					}
					if len(got) != 1 || got[0] != strconv.Itoa(i*100) {
						return fmt.Errorf("session %d read %v", i, got)
					}
				}
				return nil
			}()
		})
	}
	wg.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
}

func (s suite) closeWhileRunning(t *testing.T) {
	session := s.open(t)
	alive(t, session)
	result := make(chan error, 1)
	go func() {
		_, err := TryRows(context.Background(), session, engine.Statement{SQL: endless})
		result <- err
	}()
	// Close stops the statement in any state.
	start, stalls := time.Now(), WatchStalls(0)
	time.AfterFunc(100*time.Millisecond, func() { session.Close() })
	err := <-result
	took := time.Since(start) - stalls()
	require.ErrorIs(t, err, engine.ErrInterrupted, "%v", withText(err))
	require.Less(t, took, 100*time.Millisecond+4*prompt, "the statement outlived its session")
	require.NoError(t, session.Close())
}

func (s suite) closeWhileReading(t *testing.T) {
	for range 5 {
		session := s.open(t)
		r, err := session.Query(context.Background(), engine.Statement{SQL: "SELECT range FROM range(1000000000000)"})
		require.NoError(t, withText(err))
		done := make(chan error, 1)
		started := make(chan struct{})
		go func() {
			var n int
			for {
				batch, err := r.Next(context.Background())
				if err != nil {
					done <- err
					return
				}
				batch.Release()
				if n++; n == 10 {
					close(started)
				}
			}
		}()
		<-started
		require.NoError(t, session.Close())
		require.ErrorIs(t, <-done, engine.ErrInterrupted)
		require.NoError(t, r.Close())
	}
}

func (s suite) engineClose(t *testing.T) {
	e := s.newEngine(t)
	var wg sync.WaitGroup
	errs := make([]error, 3)
	for i := range errs {
		session, err := e.Open(context.Background(), engine.SessionOptions{})
		require.NoError(t, err)
		wg.Go(func() {
			_, errs[i] = TryRows(context.Background(), session, engine.Statement{SQL: endless, Lease: engine.Lease{Threads: 1}})
		})
	}
	start, stalls := time.Now(), WatchStalls(0)
	require.NoError(t, e.Close())
	wg.Wait()
	require.Less(t, time.Since(start)-stalls(), 4*prompt)
	for _, err := range errs {
		require.ErrorIs(t, err, engine.ErrInterrupted, "%v", withText(err))
	}
}
