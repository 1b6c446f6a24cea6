package delta_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/delta/logpath"
	"github.com/lakewarden/lakewarden/engine/objstore/mem"
)

// TestMemoryBytesEstimate compares the estimate, which bounds caches, with the heap.
func TestMemoryBytesEstimate(t *testing.T) {
	const files = 8_000
	b := mem.New()
	var adds []string
	for i := range files {
		adds = append(adds, wideAdd(i))
	}
	mustPut(t, b, logpath.CommitName(0), wideCommit(0, adds...))
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	opts := delta.Options{NoCheckpoints: true}
	var byCommit, byCheckpoint *delta.Snapshot
	measure := func(into **delta.Snapshot) {
		before := heap()
		s, err := delta.Load(t.Context(), b, opts)
		require.NoError(t, err)
		*into = s
		truth := heap() - before
		require.InEpsilon(t, truth, s.MemoryBytes(), 0.5)
	}
	measure(&byCommit)
	require.NoError(t, byCommit.Checkpoint(t.Context()))
	measure(&byCheckpoint)
	require.Equal(t, byCommit.NumFiles(), byCheckpoint.NumFiles())
	before := byCheckpoint.MemoryBytes()
	byCheckpoint.Derived(func(any) any { return 1 })
	require.Greater(t, byCheckpoint.MemoryBytes(), before)
	runtime.KeepAlive(byCommit)
}
