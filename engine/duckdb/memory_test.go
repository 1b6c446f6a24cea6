package duckdb_test

import (
	"context"
	"errors"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
)

// resident is the memory of this process in bytes.
func resident(t *testing.T) int64 {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	_, after, found := strings.Cut(string(status), "VmRSS:")
	require.True(t, found)
	kib, err := strconv.ParseInt(strings.Fields(after)[0], 10, 64)
	require.NoError(t, err)
	return kib << 10
}

func TestLargeResultInConstantMemory(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the memory of the process is read from /proc")
	}
	s, err := newEngine(t).Open(context.Background(), engine.SessionOptions{})
	require.NoError(t, err)
	defer s.Close()
	// 6 million rows, about 700 MB as Arrow.
	r, err := s.Query(context.Background(), engine.Statement{
		SQL:   "SELECT range AS id, range * 2 AS twice, repeat('x', 90) || range AS text FROM range(6000000)",
		Lease: engine.Lease{Memory: 512 << 20, Threads: 2},
	})
	require.NoError(t, err)
	defer r.Close()
	var before, most, rows int64
	for n := 0; ; n++ {
		batch, err := r.Next(context.Background())
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		rows += batch.NumRows()
		batch.Release()
		switch {
		case n == 0:
			before = resident(t)
		case n%100 == 0:
			most = max(most, resident(t))
		}
	}
	require.EqualValues(t, 6_000_000, rows)
	require.Less(t, most-before, int64(128<<20), "grew from %d to %d", before, most)
	t.Logf("grew by %d MB", (most-before)>>20)
}
