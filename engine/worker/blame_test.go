package worker_test

import (
	"context"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
)

// broken reads rows until they end in an error.
func broken(t *testing.T, r engine.Result) error {
	t.Helper()
	for {
		batch, err := r.Next(context.Background())
		if err != nil {
			require.NoError(t, r.Close())
			return err
		}
		batch.Release()
	}
}

func endless(t *testing.T, s engine.Session) engine.Result {
	t.Helper()
	r, err := s.Query(context.Background(), engine.Statement{SQL: endlessRows})
	require.NoError(t, err)
	return r
}

// TestWhoIsToBlame: a statement that ran alone when its process crashed gets an error that says so;
// others, and one whose process was killed from outside, may be retried.
func TestWhoIsToBlame(t *testing.T) {
	for signal, own := range map[syscall.Signal]bool{
		syscall.SIGSEGV: true, syscall.SIGABRT: true, syscall.SIGBUS: true, syscall.SIGKILL: false,
	} {
		t.Run(signal.String(), func(t *testing.T) {
			e := newEngine(t, bareOptions())
			a, b, resting := open(t, e, "a"), open(t, e, "a"), open(t, e, "a")
			alive(t, resting)
			first := endless(t, a)
			require.NoError(t, syscall.Kill(pids(t, e, 1)[0], signal))
			err := broken(t, first)
			require.ErrorIs(t, err, engine.ErrFatal)
			if own {
				require.ErrorIs(t, err, engine.ErrCrashed)
				require.NotErrorIs(t, err, engine.ErrLost)
			} else {
				require.ErrorIs(t, err, engine.ErrLost)
			}

			first, second := endless(t, b), endless(t, open(t, e, "a"))
			require.NoError(t, syscall.Kill(pids(t, e, 1)[0], signal))
			require.ErrorIs(t, broken(t, first), engine.ErrLost)
			require.ErrorIs(t, broken(t, second), engine.ErrLost)
			alive(t, resting)
		})
	}
}

// TestSessionsApart: the process of such a session serves no other session, and ends with it.
func TestSessionsApart(t *testing.T) {
	e := newEngine(t, bareOptions())
	shared := open(t, e, "a")
	alive(t, shared)
	own := pids(t, e, 1)[0]
	apart, err := e.Open(context.Background(), engine.SessionOptions{Owner: "a", Apart: true})
	require.NoError(t, err)
	alive(t, apart)
	alive(t, open(t, e, "a"))
	for _, pid := range pids(t, e, 2) {
		if pid != own {
			require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
		}
	}
	require.Equal(t, []int{own}, pids(t, e, 1), "the engine knows of the end")
	alive(t, shared)
	alive(t, apart)
	pids(t, e, 2)
	require.NoError(t, apart.Close())
	require.Equal(t, []int{own}, pids(t, e, 1))
}

// TestUploadsHaveAProcessOfTheirOwn checks that a crash of the process that reads uploads ends no
// statement of its owner, that a crash of the other process ends no upload, and that the memory of
// both is accounted.
func TestUploadsHaveAProcessOfTheirOwn(t *testing.T) {
	opts := bareOptions()
	opts.BaseMemory = 40 << 20
	e := newEngine(t, opts)
	openUpload := func(owner string) engine.Session {
		s, err := e.Open(context.Background(), engine.SessionOptions{Owner: owner, Uploads: true})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		return s
	}
	upload := openUpload("a")
	uploads := pids(t, e, 1)[0]
	require.Equal(t, e.Overhead(nil)+40<<20, e.Overhead([]string{"a"}), "a statement of the owner would start a process")
	query := open(t, e, "a")
	both := pids(t, e, 2)
	openUpload("a")
	open(t, e, "a")
	require.Equal(t, both, pids(t, e, 2))
	openUpload("b")
	pids(t, e, 3)

	rows := endless(t, query)
	reading := endless(t, upload)
	require.NoError(t, syscall.Kill(uploads, syscall.SIGSEGV))
	require.ErrorIs(t, broken(t, reading), engine.ErrCrashed)
	batch, err := rows.Next(context.Background())
	require.NoError(t, err)
	batch.Release()
	require.NoError(t, rows.Close())
	alive(t, query)

	reading = endless(t, openUpload("a"))
	require.NoError(t, syscall.Kill(both[1], syscall.SIGKILL))
	gone(t, both[1])
	batch, err = reading.Next(context.Background())
	require.NoError(t, err)
	batch.Release()
	require.NoError(t, reading.Close())
}

func TestWhatIsHeldBesideLeases(t *testing.T) {
	opts := bareOptions()
	opts.BaseMemory, opts.IdleTimeout = 40<<20, time.Hour
	e := newEngine(t, opts)
	require.Zero(t, e.Overhead(nil))
	require.EqualValues(t, 80<<20, e.Overhead([]string{"a", "b"}), "both would start a process")
	s := open(t, e, "a")
	alive(t, s)
	require.Equal(t, e.Overhead(nil), e.Overhead([]string{"a"}))
	require.GreaterOrEqual(t, e.Overhead(nil), int64(40<<20))
	e.Reclaim()
	require.Never(t, func() bool { return len(pidsOf(e)) == 0 }, 100*time.Millisecond, 20*time.Millisecond, "it has a session")
	require.NoError(t, s.Close())
	pid := pids(t, e, 1)[0]
	e.Reclaim()
	gone(t, pid)
	require.Eventually(t, func() bool { return e.Overhead(nil) == 0 }, time.Minute, time.Millisecond)
}
