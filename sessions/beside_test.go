package sessions_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/sessions"
)

const mib = int64(1) << 20

// TestWhatIsHeldBesideLeasesLeavesLess: leases and what is held beside them stay
// within the budget together.
func TestWhatIsHeldBesideLeasesLeavesLess(t *testing.T) {
	const base = 100 * mib
	var seated atomic.Int64 // processes that live
	p := newPool(t, &fakeEngine{}, sessions.Options{
		Budget: 1000 * mib, Lease: 400 * mib, OrgShare: 1, MaxRunning: 16, MaxWait: 50 * time.Millisecond, Linger: time.Nanosecond,
		Beside: func(orgs []string) int64 { return base * max(seated.Load(), int64(len(orgs))) },
	})
	a := acquire(t, p, sessions.Key{Org: "a", User: "1"})
	require.Equal(t, 400*mib, a.Lease.Memory)
	b := acquire(t, p, sessions.Key{Org: "a", User: "2"})
	require.Equal(t, 272*mib, b.Lease.Memory, "room for another organisation and its process stays")
	c := acquire(t, p, sessions.Key{Org: "b", User: "1"})
	require.Equal(t, 128*mib, c.Lease.Memory, "two processes and the leases are the budget")
	_, err := p.Acquire(context.Background(), sessions.Key{Org: "c", User: "1"})
	require.ErrorIs(t, err, sessions.ErrBusy)
	a.Release()
	acquire(t, p, sessions.Key{Org: "c", User: "1"}).Release()
	b.Release()
	c.Release()
}

// TestOneStatementAlwaysRuns, whatever is held beside leases.
func TestOneStatementAlwaysRuns(t *testing.T) {
	p := newPool(t, &fakeEngine{}, sessions.Options{
		Budget: 1000 * mib, MaxWait: 50 * time.Millisecond, Linger: time.Nanosecond, Beside: func([]string) int64 { return 5000 * mib },
	})
	h := acquire(t, p, sessions.Key{Org: "a", User: "1"})
	require.Equal(t, sessions.MinLease, h.Lease.Memory)
	_, err := p.Acquire(context.Background(), sessions.Key{Org: "b", User: "1"})
	require.ErrorIs(t, err, sessions.ErrBusy)
	h.Release()
	acquire(t, p, sessions.Key{Org: "b", User: "1"}).Release()
}

// TestWhoWaitsGetsWhatIdleSessionsHold: sessions and processes that nobody uses go
// for a statement that waits for their memory, and only then.
func TestWhoWaitsGetsWhatIdleSessionsHold(t *testing.T) {
	eng := &fakeEngine{}
	var idle, reclaimed atomic.Int64
	p := newPool(t, eng, sessions.Options{
		Budget: 600 * mib, Lease: 200 * mib, OrgShare: 1, MaxWait: 10 * time.Second, Linger: time.Nanosecond, IdleTimeout: time.Hour,
		Beside:  func([]string) int64 { return idle.Load() },
		Reclaim: func() { reclaimed.Add(1); idle.Store(0) },
	})
	acquire(t, p, sessions.Key{Org: "idle", User: "1"}).Release()
	a := acquire(t, p, sessions.Key{Org: "a", User: "1"})
	require.Zero(t, reclaimed.Load())
	require.EqualValues(t, 2, eng.open.Load())
	idle.Store(350 * mib)
	b := acquire(t, p, sessions.Key{Org: "b", User: "1"})
	require.EqualValues(t, 1, reclaimed.Load())
	require.EqualValues(t, 2, eng.open.Load(), "the session that nobody used is closed")
	a.Release()
	b.Release()
}

// TestWhatComesBackByItselfIsUsed: no event tells that a process has ended.
func TestWhatComesBackByItselfIsUsed(t *testing.T) {
	var held atomic.Int64
	p := newPool(t, &fakeEngine{}, sessions.Options{
		Budget: 600 * mib, Lease: 200 * mib, MaxWait: 30 * time.Second, Linger: time.Nanosecond,
		Beside: func([]string) int64 { return held.Load() },
	})
	a := acquire(t, p, sessions.Key{Org: "a", User: "1"})
	held.Store(350 * mib)
	done := make(chan *sessions.Held)
	go func() {
		h, err := p.Acquire(context.Background(), sessions.Key{Org: "b", User: "1"})
		if err != nil {
			close(done)
			return
		}
		done <- h
	}()
	require.Eventually(t, func() bool { return p.Stats().Queued == 1 }, 5*time.Second, time.Millisecond)
	held.Store(0)
	h, ok := <-done
	require.True(t, ok)
	h.Release()
	a.Release()
}

func TestOpenApart(t *testing.T) {
	eng := &fakeEngine{}
	p := newPool(t, eng, sessions.Options{})
	key := sessions.Key{Org: "a", User: "1", Roots: []string{"/x"}}
	h, err := p.OpenApart(context.Background(), key)
	require.NoError(t, err)
	require.True(t, fake(h).apart)
	h.Release()
	require.Zero(t, eng.open.Load(), "nobody else gets it")
	again := acquire(t, p, key)
	require.False(t, fake(again).apart)
	again.Release()
}
