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

// TestOverheadReducesLeases checks that leases and overhead together stay within the
// budget.
func TestOverheadReducesLeases(t *testing.T) {
	const base = 100 * mib
	var processes atomic.Int64 // running processes
	p := newPool(t, &fakeEngine{}, sessions.Options{
		Budget: 1000 * mib, Lease: 400 * mib, OrgShare: 1, MaxRunning: 16, MaxWait: 50 * time.Millisecond, Linger: time.Nanosecond,
		Overhead: func(orgs []string) int64 { return base * max(processes.Load(), int64(len(orgs))) },
	})
	a := acquire(t, p, sessions.Key{Org: "a", User: "1"})
	require.Equal(t, 400*mib, a.Lease.Memory)
	b := acquire(t, p, sessions.Key{Org: "a", User: "2"})
	require.Equal(t, 272*mib, b.Lease.Memory, "room for another organisation and its process remains")
	c := acquire(t, p, sessions.Key{Org: "b", User: "1"})
	require.Equal(t, 128*mib, c.Lease.Memory, "two processes and the leases are the budget")
	_, err := p.Acquire(context.Background(), sessions.Key{Org: "c", User: "1"})
	require.ErrorIs(t, err, sessions.ErrBusy)
	a.Release()
	acquire(t, p, sessions.Key{Org: "c", User: "1"}).Release()
	b.Release()
	c.Release()
}

// TestOneStatementAlwaysRuns checks that one statement runs whatever the overhead.
func TestOneStatementAlwaysRuns(t *testing.T) {
	p := newPool(t, &fakeEngine{}, sessions.Options{
		Budget: 1000 * mib, MaxWait: 50 * time.Millisecond, Linger: time.Nanosecond, Overhead: func([]string) int64 { return 5000 * mib },
	})
	h := acquire(t, p, sessions.Key{Org: "a", User: "1"})
	require.Equal(t, sessions.MinLease, h.Lease.Memory)
	_, err := p.Acquire(context.Background(), sessions.Key{Org: "b", User: "1"})
	require.ErrorIs(t, err, sessions.ErrBusy)
	h.Release()
	acquire(t, p, sessions.Key{Org: "b", User: "1"}).Release()
}

// TestWaitersGetMemoryOfIdleSessions checks that unused sessions and processes are
// closed for a statement that waits for their memory, and only then.
func TestWaitersGetMemoryOfIdleSessions(t *testing.T) {
	eng := &fakeEngine{}
	var idle, reclaimed atomic.Int64
	p := newPool(t, eng, sessions.Options{
		Budget: 600 * mib, Lease: 200 * mib, OrgShare: 1, MaxWait: 10 * time.Second, Linger: time.Nanosecond, IdleTimeout: time.Hour,
		Overhead: func([]string) int64 { return idle.Load() },
		Reclaim:  func() { reclaimed.Add(1); idle.Store(0) },
	})
	acquire(t, p, sessions.Key{Org: "idle", User: "1"}).Release()
	a := acquire(t, p, sessions.Key{Org: "a", User: "1"})
	require.Zero(t, reclaimed.Load())
	require.EqualValues(t, 2, eng.open.Load())
	idle.Store(350 * mib)
	b := acquire(t, p, sessions.Key{Org: "b", User: "1"})
	require.EqualValues(t, 1, reclaimed.Load())
	require.EqualValues(t, 2, eng.open.Load(), "the unused session is closed")
	a.Release()
	b.Release()
}

// TestFreedOverheadIsUsed checks that memory is used after a process has ended without
// an event.
func TestFreedOverheadIsUsed(t *testing.T) {
	var held atomic.Int64
	p := newPool(t, &fakeEngine{}, sessions.Options{
		Budget: 600 * mib, Lease: 200 * mib, MaxWait: 30 * time.Second, Linger: time.Nanosecond,
		Overhead: func([]string) int64 { return held.Load() },
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
	require.Eventually(t, func() bool { return p.Stats().Queued == 1 }, time.Minute, time.Millisecond)
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
	require.Zero(t, eng.open.Load(), "it is not reused")
	again := acquire(t, p, key)
	require.False(t, fake(again).apart)
	again.Release()
}
