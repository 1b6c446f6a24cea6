package sessions_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/sessions"
)

// slowly marks a statement whose client reads at a rate. Its end releases it, and is reported.
func slowly(h *sessions.Held, rate float64, ended chan<- float64) {
	h.Slow(sessions.SlowClient{Rate: func() float64 { return rate }, End: func(err error) {
		go func() {
			h.Release()
			ended <- rate
		}()
	}})
}

// asks starts a statement of a user, and returns it once it has its turn.
func asks(t *testing.T, p *sessions.Pool, key sessions.Key) (granted chan *sessions.Held) {
	t.Helper()
	granted = make(chan *sessions.Held, 1)
	go func() {
		h, err := p.Acquire(context.Background(), key)
		if err != nil {
			t.Error(err)
		}
		granted <- h
	}()
	return granted
}

// TestSlowClientsOfOneUserMakeRoomForOthers checks that the slow statements of a user hold at
// most a quarter of the turns while others wait, that the slowest ones end, and that nothing
// ends while nobody else waits.
func TestSlowClientsOfOneUserMakeRoomForOthers(t *testing.T) {
	for name, other := range map[string]sessions.Key{
		"user of the organisation": {Org: "o", User: "small"}, "another organisation": {Org: "p", User: "small"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPool(t, &fakeEngine{}, sessions.Options{MaxRunning: 8, OrgShare: 1, Budget: 64 << 30, Linger: time.Hour})
			greedy := sessions.Key{Org: "o", User: "greedy"}
			var held []*sessions.Held
			for range 8 {
				held = append(held, acquire(t, p, greedy))
			}
			ended := make(chan float64, 8)
			for i, rate := range []float64{5, 1, 4, 2, 3} {
				slowly(held[i], rate, ended)
				require.False(t, held[i].Awaited())
			}
			own := asks(t, p, greedy)
			require.Eventually(t, func() bool { return p.Stats().Queued == 1 }, time.Minute, time.Millisecond)
			require.Empty(t, ended, "nobody else waits")
			require.False(t, held[0].Awaited())

			granted := asks(t, p, other)
			var rates []float64
			for range 3 {
				rates = append(rates, <-ended)
			}
			require.ElementsMatch(t, []float64{1, 2, 3}, rates, "the slowest ones, until two remain")
			(<-granted).Release()
			(<-own).Release()
			require.Empty(t, ended)

			// A statement whose client becomes slow while others wait.
			var more []*sessions.Held
			for p.Stats().Running < 8 {
				more = append(more, acquire(t, p, greedy))
			}
			granted = asks(t, p, other)
			require.Eventually(t, func() bool { return p.Stats().Queued == 1 }, time.Minute, time.Millisecond)
			require.True(t, held[0].Awaited())
			require.Empty(t, ended, "a quarter is allowed")
			slowly(more[0], 0, ended)
			require.Zero(t, <-ended)
			(<-granted).Release()

			held[0].Fast()
			slowly(held[5], 1, ended)
			for _, h := range append(held, more...) {
				h.Release()
			}
			require.Empty(t, ended)
		})
	}
}

// TestSlowClientsHoldAQuarterOfTheMemory checks the limit of memory, and that one slow
// statement is always allowed.
func TestSlowClientsHoldAQuarterOfTheMemory(t *testing.T) {
	const lease = 4 * sessions.MinLease
	p := newPool(t, &fakeEngine{}, sessions.Options{MaxRunning: 100, OrgShare: 1, Budget: 4 * lease, Lease: lease, Linger: time.Nanosecond})
	var held []*sessions.Held
	for p.Stats().HeldBytes+sessions.MinLease <= 4*lease {
		held = append(held, acquire(t, p, sessions.Key{Org: "o", User: "greedy"}))
	}
	ended := make(chan float64, len(held))
	for i, h := range held {
		slowly(h, float64(i), ended)
	}
	granted := asks(t, p, sessions.Key{Org: "o", User: "small"})
	var left int64
	over := map[float64]bool{}
	(<-granted).Release()
	require.Eventually(t, func() bool {
		for len(ended) > 0 {
			over[<-ended] = true
		}
		left = 0
		for i, h := range held {
			if !over[float64(i)] {
				left += h.Lease.Memory
			}
		}
		return left <= lease
	}, time.Minute, time.Millisecond)
	require.Less(t, len(over), len(held), "one is allowed")
	var wg sync.WaitGroup
	for _, h := range held {
		wg.Go(h.Release)
	}
	wg.Wait()
}
