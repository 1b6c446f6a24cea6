package sessions_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/sessions"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeEngine counts open sessions and checks that each serves one key.
type fakeEngine struct {
	open, opened atomic.Int64
	fail         error
}

type fakeSession struct {
	eng     *fakeEngine
	roots   []string
	scratch string
	apart   bool
	uploads bool
	busy    atomic.Bool
	broken  atomic.Bool
	closed  atomic.Bool
	idled   atomic.Int64
}

func (e *fakeEngine) Open(_ context.Context, o engine.SessionOptions) (engine.Session, error) {
	if e.fail != nil {
		return nil, e.fail
	}
	e.open.Add(1)
	e.opened.Add(1)
	return &fakeSession{eng: e, roots: o.Roots, scratch: o.Scratch, apart: o.Apart, uploads: o.Uploads}, nil
}
func (e *fakeEngine) Close() error                { return nil }
func (s *fakeSession) Warm(context.Context) error { return nil }
func (s *fakeSession) Query(context.Context, engine.Statement) (engine.Result, error) {
	return nil, errors.New("unused")
}
func (s *fakeSession) Idle(context.Context, int64) error { s.idled.Add(1); return nil }
func (s *fakeSession) Broken() bool                      { return s.broken.Load() }
func (s *fakeSession) Close() error {
	if s.closed.CompareAndSwap(false, true) {
		s.eng.open.Add(-1)
	}
	return nil
}

func fake(h *sessions.Held) *fakeSession { return h.Session.(*fakeSession) }

func newPool(t *testing.T, eng *fakeEngine, opts sessions.Options) *sessions.Pool {
	p := sessions.New(eng, opts)
	t.Cleanup(func() {
		require.NoError(t, p.Close(context.Background()))
		require.Zero(t, eng.open.Load(), "every session is closed with the pool")
	})
	return p
}

func acquire(t *testing.T, p *sessions.Pool, key sessions.Key) *sessions.Held {
	h, err := p.Acquire(context.Background(), key)
	require.NoError(t, err)
	return h
}

func TestASessionIsReusedByItsKeyOnly(t *testing.T) {
	eng := &fakeEngine{}
	p := newPool(t, eng, sessions.Options{})
	a := sessions.Key{Org: "o", User: "a", Roots: []string{"/1", "/2"}}
	h := acquire(t, p, a)
	first := fake(h)
	h.Release()
	h.Release()

	h = acquire(t, p, sessions.Key{Org: "o", User: "a", Roots: []string{"/2", "/1"}})
	require.Same(t, first, fake(h), "order of roots does not matter")
	h.Release()
	for _, other := range []sessions.Key{
		{Org: "o", User: "b", Roots: a.Roots},
		{Org: "p", User: "a", Roots: a.Roots},
		{Org: "o", User: "a", Roots: []string{"/1"}},
	} {
		h := acquire(t, p, other)
		require.NotSame(t, first, fake(h), "%v", other)
		require.Equal(t, other.Roots, fake(h).roots)
		h.Release()
	}
}

func TestABrokenSessionIsNotHandedOutAgain(t *testing.T) {
	eng := &fakeEngine{}
	p := newPool(t, eng, sessions.Options{})
	key := sessions.Key{Org: "o", User: "a"}
	h := acquire(t, p, key)
	broken := fake(h)
	broken.broken.Store(true)
	h.Release()
	require.True(t, broken.closed.Load())
	h = acquire(t, p, key)
	defer h.Release()
	require.NotSame(t, broken, fake(h))
}

// TestEmptiedSessionsServeNoFurtherStatement, whether they are idle, lingering, in use or being
// opened.
func TestEmptiedSessionsServeNoFurtherStatement(t *testing.T) {
	eng := &fakeEngine{}
	p := newPool(t, eng, sessions.Options{Linger: time.Hour})
	keys := []sessions.Key{
		{Org: "o", User: "a", Roots: []string{"/1", "/2"}},
		{Org: "o", User: "b", Roots: []string{"/1"}},
		{Org: "o", User: "c", Roots: []string{"/1"}, ServiceRoots: []string{"/2"}},
	}
	idle, used := map[string]*fakeSession{}, map[string]*sessions.Held{}
	for _, key := range keys {
		first, second := acquire(t, p, key), acquire(t, p, key)
		idle[key.User], used[key.User] = fake(first), second
		first.Release()
	}
	p.Empty(func(root string) bool { return root == "/2" })
	for _, key := range keys {
		emptied := key.User != "b"
		require.Equal(t, emptied, idle[key.User].closed.Load(), key.User)
		require.False(t, fake(used[key.User]).closed.Load(), "the statement goes on")
		used[key.User].Release()
		require.Equal(t, emptied, fake(used[key.User]).closed.Load(), key.User)
	}
	require.Equal(t, sessions.Stats{Idle: 2}, p.Stats())
}

func TestAnOldSessionServesNoFurtherStatement(t *testing.T) {
	eng, now := &fakeEngine{}, atomic.Int64{}
	clock := func() time.Time { return time.Unix(now.Load(), 0) }
	p := newPool(t, eng, sessions.Options{Now: clock, MaxAge: time.Minute, IdleTimeout: time.Hour})
	key := sessions.Key{Org: "o", User: "a"}
	h := acquire(t, p, key)
	first := fake(h)
	now.Store(59)
	h.Release()
	h = acquire(t, p, key)
	require.Same(t, first, fake(h))
	now.Store(61)
	h.Release()
	require.True(t, first.closed.Load())
}

func TestLeasesStayWithinTheBudgetUnderLoad(t *testing.T) {
	const budget = 1 << 30
	eng := &fakeEngine{}
	p := newPool(t, eng, sessions.Options{Budget: budget, Lease: 512 << 20, MaxRunning: 100, MaxIdle: 4})
	var held, most atomic.Int64
	var wg sync.WaitGroup
	for u := range 40 {
		wg.Go(func() {
			key := sessions.Key{Org: string(rune('a' + u%3)), User: string(rune('A' + u%10))}
			for range 50 {
				h, err := p.Acquire(context.Background(), key)
				if err != nil {
					t.Error(err)
					return
				}
				if !fake(h).busy.CompareAndSwap(false, true) || fake(h).closed.Load() {
					t.Error("session handed out twice or after close")
				}
				if now := held.Add(h.Lease.Memory); now > budget || h.Lease.Memory < sessions.MinLease {
					t.Errorf("held %d, lease %d", now, h.Lease.Memory)
				} else if now > most.Load() {
					most.Store(now)
				}
				held.Add(-h.Lease.Memory)
				fake(h).busy.Store(false)
				h.Release()
			}
		})
	}
	wg.Wait()
	require.LessOrEqual(t, p.Stats().Idle, 4)
	require.Zero(t, p.Stats().HeldBytes)
	require.Zero(t, p.Stats().Running)
	require.Positive(t, most.Load())
}

func TestOrganisationsTakeTurns(t *testing.T) {
	eng := &fakeEngine{}
	p := newPool(t, eng, sessions.Options{MaxRunning: 1})
	blocker := acquire(t, p, sessions.Key{Org: "greedy", User: "g"})
	order := make(chan string, 12)
	var wg sync.WaitGroup
	wait := func(org string) {
		before := p.Stats().Queued
		wg.Go(func() {
			h, err := p.Acquire(context.Background(), sessions.Key{Org: org, User: "u"})
			if err != nil {
				t.Error(err)
				return
			}
			order <- org
			h.Release()
		})
		require.Eventually(t, func() bool { return p.Stats().Queued == before+1 }, time.Minute, time.Millisecond)
	}
	for range 10 {
		wait("greedy")
	}
	wait("small")
	wait("small")
	blocker.Release()
	wg.Wait()
	close(order)
	position := 0
	var smalls []int
	for org := range order {
		if org == "small" {
			smalls = append(smalls, position)
		}
		position++
	}
	require.Equal(t, 12, position)
	require.LessOrEqual(t, smalls[1], 4, "ten earlier statements of another organisation do not go first: %v", smalls)
}

func TestOneOrganisationCannotTakeTheLastRoom(t *testing.T) {
	for name, opts := range map[string]sessions.Options{
		"turns":  {MaxRunning: 8, Budget: 16 << 30},
		"memory": {MaxRunning: 100, Budget: 4 << 30},
	} {
		opts.MaxWait = 100 * time.Millisecond
		p := newPool(t, &fakeEngine{}, opts)
		var held []*sessions.Held
		for {
			h, err := p.Acquire(context.Background(), sessions.Key{Org: "greedy", User: "g"})
			if err != nil {
				require.ErrorIs(t, err, sessions.ErrBusy)
				break
			}
			held = append(held, h)
		}
		require.Greater(t, len(held), 3, name)
		h, err := p.Acquire(context.Background(), sessions.Key{Org: "small", User: "s"})
		require.NoError(t, err, "%s: %d statements of another organisation never end", name, len(held))
		h.Release()
		for _, h := range held {
			h.Release()
		}
	}
}

func TestACancelledWaitTakesNothing(t *testing.T) {
	eng := &fakeEngine{}
	p := newPool(t, eng, sessions.Options{MaxRunning: 1})
	key := sessions.Key{Org: "o", User: "a"}
	h := acquire(t, p, key)
	for range 100 {
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		_, err := p.Acquire(ctx, key)
		cancel()
		require.ErrorIs(t, err, context.DeadlineExceeded)
	}
	require.Equal(t, sessions.Stats{Running: 1, HeldBytes: h.Lease.Memory}, p.Stats())
	h.Release()
	acquire(t, p, key).Release()
}

func TestAFullQueueIsBusy(t *testing.T) {
	eng := &fakeEngine{}
	p := newPool(t, eng, sessions.Options{MaxRunning: 1, MaxQueuedOrg: 1, MaxWait: 3 * time.Second})
	key := sessions.Key{Org: "o", User: "a"}
	h := acquire(t, p, key)
	defer h.Release()
	waited := make(chan error, 1)
	go func() {
		_, err := p.Acquire(context.Background(), key)
		waited <- err
	}()
	require.Eventually(t, func() bool { return p.Stats().Queued == 1 }, time.Minute, time.Millisecond)
	_, err := p.Acquire(context.Background(), key)
	var busy *sessions.BusyError
	require.ErrorAs(t, err, &busy)
	require.Equal(t, "organisation", busy.Scope)
	require.Positive(t, busy.RetryAfter)
	require.ErrorIs(t, <-waited, sessions.ErrBusy, "a wait ends after MaxWait")
}

func TestALingeringSessionKeepsItsLeaseUntilSomebodyNeedsRoom(t *testing.T) {
	eng := &fakeEngine{}
	p := newPool(t, eng, sessions.Options{MaxRunning: 1, Linger: time.Hour})
	a := sessions.Key{Org: "o", User: "a"}
	h := acquire(t, p, a)
	first := fake(h)
	h.Release()
	h = acquire(t, p, a)
	require.Same(t, first, fake(h))
	require.Zero(t, first.idled.Load(), "the next statement of the same key changes no setting")
	h.Release()

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	other, err := p.Acquire(ctx, sessions.Key{Org: "p", User: "b"})
	require.NoError(t, err, "the only turn is returned immediately")
	require.Equal(t, int64(1), first.idled.Load())
	other.Release()
	require.Equal(t, sessions.Stats{Idle: 2}, p.Stats())
}

func TestALingeringSessionSettles(t *testing.T) {
	eng := &fakeEngine{}
	p := newPool(t, eng, sessions.Options{Linger: 20 * time.Millisecond})
	h := acquire(t, p, sessions.Key{Org: "o", User: "a"})
	s := fake(h)
	h.Release()
	require.Eventually(t, func() bool { return s.idled.Load() == 1 }, time.Minute, 5*time.Millisecond)
	require.False(t, s.closed.Load())
}

// TestARemoteSessionLingersLonger checks LingerRemote: the session's memory holds what
// it has read.
func TestARemoteSessionLingersLonger(t *testing.T) {
	eng := &fakeEngine{}
	p := newPool(t, eng, sessions.Options{MaxRunning: 4, Linger: 10 * time.Millisecond, LingerRemote: time.Hour})
	local := acquire(t, p, sessions.Key{Org: "o", User: "a", Roots: []string{"/lake"}})
	remote := acquire(t, p, sessions.Key{Org: "o", User: "a", Roots: []string{"/lake", "s3://cfg-1/"}})
	first, second := fake(local), fake(remote)
	remote.Release()
	local.Release()
	require.Eventually(t, func() bool { return first.idled.Load() == 1 }, time.Minute, 5*time.Millisecond)
	require.Zero(t, second.idled.Load())
	for _, user := range []string{"b", "c", "d", "e"} {
		defer acquire(t, p, sessions.Key{Org: user, User: user}).Release()
	}
	require.Equal(t, int64(1), second.idled.Load(), "its turn was needed")
}

func TestAnEngineFailureGivesTheLeaseBack(t *testing.T) {
	eng := &fakeEngine{fail: errors.New("no engine")}
	p := newPool(t, eng, sessions.Options{MaxRunning: 1})
	for range 3 {
		_, err := p.Acquire(context.Background(), sessions.Key{Org: "o", User: "a"})
		require.ErrorIs(t, err, eng.fail)
	}
	require.Zero(t, p.Stats().Running)
}

func TestIdleSessionsAreClosed(t *testing.T) {
	eng := &fakeEngine{}
	p := newPool(t, eng, sessions.Options{IdleTimeout: 20 * time.Millisecond})
	acquire(t, p, sessions.Key{Org: "o", User: "a"}).Release()
	require.Eventually(t, func() bool { return eng.open.Load() == 0 }, time.Minute, 5*time.Millisecond)
}

func TestDropClosesTheIdleSessionsOfAUser(t *testing.T) {
	eng := &fakeEngine{}
	p := newPool(t, eng, sessions.Options{})
	acquire(t, p, sessions.Key{Org: "o", User: "a"}).Release()
	acquire(t, p, sessions.Key{Org: "o", User: "b"}).Release()
	require.Equal(t, 1, p.Drop(func(k sessions.Key) bool { return k.User == "a" }))
	require.Equal(t, int64(1), eng.open.Load())
}

func TestServiceRootsMakeAnotherSession(t *testing.T) {
	eng := &fakeEngine{}
	p := newPool(t, eng, sessions.Options{})
	own := sessions.Key{Org: "o", User: "a", Roots: []string{"/x", "/y"}}
	service := sessions.Key{Org: "o", User: "a", Roots: []string{"/x"}, ServiceRoots: []string{"/y"}}
	acquire(t, p, own).Release()
	acquire(t, p, service).Release()
	acquire(t, p, sessions.Key{Org: "o", User: "a", Roots: []string{"/y", "/x"}}).Release()
	require.Equal(t, int64(2), eng.open.Load(), "the order of roots is irrelevant")
	require.ElementsMatch(t, []sessions.Key{own, service}, sorted(p.Idle()))
	require.Equal(t, 1, p.Drop(func(k sessions.Key) bool { return len(k.ServiceRoots) > 0 }))
	require.Len(t, p.Idle(), 1)
}

// sorted sorts the roots of keys.
func sorted(keys []sessions.Key) []sessions.Key {
	for i := range keys {
		slices.Sort(keys[i].Roots)
	}
	return keys
}

func TestCloseWaitsForRunningStatements(t *testing.T) {
	eng := &fakeEngine{}
	p := sessions.New(eng, sessions.Options{})
	h := acquire(t, p, sessions.Key{Org: "o", User: "a"})
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, p.Close(ctx), context.DeadlineExceeded)
	_, err := p.Acquire(context.Background(), sessions.Key{Org: "o", User: "a"})
	require.ErrorIs(t, err, sessions.ErrClosed)
	h.Release()
	require.Eventually(t, func() bool { return eng.open.Load() == 0 }, time.Minute, time.Millisecond)
}
