package worker_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/enginetest"
	"github.com/lakewarden/lakewarden/engine/worker"
)

// TestMemoryOfThePast: memory that an allocator retains after a large statement does not count
// against later small ones.
func TestMemoryOfThePast(t *testing.T) {
	e := newEngine(t, bareOptions())
	s, beside := open(t, e, "a"), open(t, e, "a")
	pid := pids(t, e, 1)[0]
	for _, session := range []engine.Session{s, beside} {
		enginetest.Rows(t, session, engine.Statement{
			SQL:   "SELECT count(*) FROM (SELECT range % 4000000 AS k, sum(range) AS n FROM range(5000000) GROUP BY k) WHERE n < 0",
			Lease: engine.Lease{Memory: 1 << 30, Threads: 2},
		})
		t.Logf("after a large statement: %d MB", worker.Resident(e)>>20)
		require.NoError(t, session.Idle(context.Background(), 0))
	}
	small := engine.Statement{SQL: "SELECT sum(range) FROM range(1000000)", Lease: engine.Lease{Memory: 128 << 20, Threads: 1}}
	for start := time.Now(); time.Since(start) < 4*time.Second; {
		enginetest.Rows(t, s, small)
		enginetest.Rows(t, beside, small)
	}
	t.Logf("after small ones: %d MB", worker.Resident(e)>>20)
	require.Equal(t, []int{pid}, pids(t, e, 1))
}
