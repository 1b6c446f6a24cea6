package analysis

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
)

func TestFewAnalysesRunAtTheSameTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns(4)
		var all, most, ofFirst, mostOfFirst atomic.Int64
		var group sync.WaitGroup
		for i := range 60 {
			org := catalog.OrgID([]string{"first", "first", "first", "second", "third"}[i%5])
			group.Go(func() {
				release, err := turns.take(t.Context(), org)
				require.NoError(t, err)
				defer release()
				most.Store(max(most.Load(), all.Add(1)))
				if org == "first" {
					mostOfFirst.Store(max(mostOfFirst.Load(), ofFirst.Add(1)))
					defer ofFirst.Add(-1)
				}
				<-time.After(time.Second) // of the clock of the test
				all.Add(-1)
			})
		}
		group.Wait()
		require.Equal(t, []int64{4, 2}, []int64{most.Load(), mostOfFirst.Load()})
		require.Empty(t, turns.orgs)

		short, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for range 2 {
			_, err := turns.take(t.Context(), "first")
			require.NoError(t, err)
		}
		_, err := turns.take(short, "first")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		release, err := turns.take(t.Context(), "second")
		require.NoError(t, err, "an organisation leaves turns to others")
		release()
		require.Len(t, turns.orgs, 1)
	})
}
