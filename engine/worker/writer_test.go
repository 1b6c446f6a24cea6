package worker_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
)

// files are those below dir, with the engine's own.
func files(tb testing.TB, dir string) []string {
	tb.Helper()
	var out []string
	require.NoError(tb, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil // it is written to now
		}
		if err == nil && !d.IsDir() {
			out = append(out, path)
		}
		return err
	}))
	return out
}

// TestKilledWhileWriting: neither files nor what the statement spilled are left.
func TestKilledWhileWriting(t *testing.T) {
	e := newEngine(t, bareOptions())
	scratch := t.TempDir()
	s, err := e.Open(t.Context(), engine.SessionOptions{Owner: "a", Scratch: scratch})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	pid := pids(t, e, 1)[0]
	kept, err := s.(engine.Writer).Write(t.Context(), engine.WriteStatement{Statement: engine.Statement{SQL: "SELECT 1 AS a"}, Dir: "kept"})
	require.NoError(t, err)

	done := make(chan error, 1)
	go func() {
		_, err := s.(engine.Writer).Write(t.Context(), engine.WriteStatement{
			Statement: engine.Statement{SQL: "SELECT a.range AS i, b.range AS j FROM range(10000000) a, range(10000000) b"},
			Layout:    engine.FileLayout{FileBytes: 100_000, RowGroupRows: 10_000},
		})
		done <- err
	}()
	require.Eventually(t, func() bool { return len(files(t, scratch)) > 3 }, time.Minute, time.Millisecond)
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	require.ErrorIs(t, <-done, engine.ErrFatal)
	require.Equal(t, []string{filepath.Join(scratch, "kept", kept[0].Name)}, files(t, scratch))
	require.True(t, s.Broken())
}

// TestSpillOfAKilledStatement: the files that a query spilled are removed when its session is
// closed, so that the caller can remove the directory.
func TestSpillOfAKilledStatement(t *testing.T) {
	e := newEngine(t, bareOptions())
	scratch := t.TempDir()
	s, err := e.Open(t.Context(), engine.SessionOptions{Owner: "a", Scratch: scratch})
	require.NoError(t, err)
	pid := pids(t, e, 1)[0]
	done := make(chan error, 1)
	go func() {
		r, err := s.Query(t.Context(), engine.Statement{
			SQL:   "SELECT count(*) FROM (SELECT range, md5(range::VARCHAR) AS m FROM range(100000000) ORDER BY m)",
			Lease: engine.Lease{Memory: 64 << 20, Threads: 1},
		})
		if err == nil {
			_, err = r.Next(t.Context())
			_ = r.Close()
		}
		done <- err
	}()
	require.Eventually(t, func() bool { return len(files(t, scratch)) > 0 }, time.Minute, time.Millisecond)
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	require.ErrorIs(t, <-done, engine.ErrFatal)
	require.NoError(t, s.Close())
	require.Empty(t, files(t, scratch))
}

// TestSortsThatWriteStayWithinTheirLease: memory that a sort has spilled is freed before it reads
// more, so that its process is not killed.
func TestSortsThatWriteStayWithinTheirLease(t *testing.T) {
	const lease = 256 << 20
	e := newEngine(t, bareOptions())
	s, err := e.Open(t.Context(), engine.SessionOptions{Owner: "a", Scratch: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	require.NoError(t, s.Warm(t.Context()))
	pid := pids(t, e, 1)[0]
	before := highWater(pid)
	for range 2 {
		files, err := s.(engine.Writer).Write(t.Context(), engine.WriteStatement{
			Statement: engine.Statement{
				SQL: "SELECT hash(range) AS h, hash(range + 1) AS i, hash(range + 2) AS j, 'some text, the same for all, and then ' || range AS t " +
					"FROM range(6000000) ORDER BY h",
				Lease: engine.Lease{Memory: lease, Threads: 2, TempBytes: 4 << 30},
			},
			Layout: engine.FileLayout{FileBytes: 64 << 20},
		})
		require.NoError(t, err)
		require.NotEmpty(t, files)
	}
	t.Logf("from %d to %d MB", before>>20, highWater(pid)>>20)
	require.LessOrEqual(t, highWater(pid), (before+lease)/100*115)
}
