package duckdb

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/duckdb/native"
)

func (s *spare) kept() *native.Instance {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ready
}

// TestSpareIsUsedOnce: what was made ahead is the next one's, and nobody else's.
func TestSpareIsUsedOnce(t *testing.T) {
	s := &spare{turns: newTurns()}
	defer s.stop()
	first, err := s.take()
	require.NoError(t, err)
	defer first.Close()
	require.Eventually(t, func() bool { return s.kept() != nil }, time.Minute, time.Millisecond)
	ahead := s.kept()
	var mu sync.Mutex
	taken := map[*native.Instance]int{}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			in, err := s.take()
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			taken[in]++
		})
	}
	all.Wait()
	require.Len(t, taken, 20)
	require.Equal(t, 1, taken[ahead])
	for in := range taken {
		require.NoError(t, in.Exec("CREATE TABLE mine(i INT)"), "it has nothing of another's")
		in.Close()
	}
}

// TestSpareStops: nothing is made ahead any more, and nothing is left.
func TestSpareStops(t *testing.T) {
	for range 20 {
		s := &spare{turns: newTurns()}
		in, err := s.take()
		require.NoError(t, err)
		in.Close()
		s.stop() // while the next one is being made, or before
		require.Nil(t, s.kept())
		in, err = s.take()
		require.NoError(t, err)
		in.Close()
		s.stop()
		require.Nil(t, s.kept())
	}
}
