package duckdb_test

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/enginetest"
)

// Users who came and went must leave next to nothing: neither a thread each,
// which the runtime would never end, nor a share of a scattered heap.
func TestUsersWhoLeft(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("threads and memory of the process are read from /proc")
	}
	const crowd, mostThreads, mostBytes = 150, 40, 20 << 20
	root := t.TempDir()
	table := enginetest.NewTable(t, root, "t")
	table.Append(t, 0, 1000)
	e := newEngine(t)
	src := table.Listed()
	come := func() engine.Session {
		s, err := e.Open(context.Background(), engine.SessionOptions{Roots: []string{root}})
		require.NoError(t, err)
		require.Len(t, enginetest.Rows(t, s, engine.Statement{
			SQL: "SELECT * FROM " + src.Relation() + " WHERE id < 5", Sources: []engine.Source{src},
			Lease: engine.Lease{Memory: 128 << 20, Threads: 2}}), 5)
		require.NoError(t, s.Idle(context.Background(), 0))
		return s
	}
	require.NoError(t, come().Close())
	debug.FreeOSMemory()
	bytes, tasks := resident(t), threads(t)
	for range 2 {
		sessions := make([]engine.Session, crowd)
		for i := range sessions {
			sessions[i] = come()
		}
		require.Less(t, threads(t), tasks+mostThreads, "an idle session keeps a thread")
		var wg sync.WaitGroup
		for _, s := range sessions {
			wg.Go(func() { _ = s.Close() })
		}
		wg.Wait()
	}
	require.Less(t, threads(t), tasks+mostThreads, "a closed session left a thread")
	require.Eventually(t, func() bool {
		debug.FreeOSMemory()
		return resident(t) < bytes+mostBytes
	}, time.Minute, 500*time.Millisecond, "%d bytes at first", bytes)
	t.Logf("%d users: %d KB and %d threads more", 2*crowd, (resident(t)-bytes)>>10, threads(t)-tasks)
}

func threads(t *testing.T) int {
	t.Helper()
	tasks, err := os.ReadDir("/proc/self/task")
	require.NoError(t, err)
	return len(tasks)
}
