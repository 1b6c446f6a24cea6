package sessions_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/sessions"
)

// TestUsersOfAnOrganisationTakeTurns checks that ten waiting statements of one user do
// not go before the first one of another user.
func TestUsersOfAnOrganisationTakeTurns(t *testing.T) {
	p := newPool(t, &fakeEngine{}, sessions.Options{MaxRunning: 1, Linger: time.Hour})
	blocker := acquire(t, p, sessions.Key{Org: "o", User: "greedy"})
	order := make(chan string, 12)
	var wg sync.WaitGroup
	wait := func(user string) {
		before := p.Stats().Queued
		wg.Go(func() {
			h, err := p.Acquire(context.Background(), sessions.Key{Org: "o", User: user})
			if err != nil {
				t.Error(err)
				return
			}
			order <- user
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
	var smalls []int
	position := 0
	for user := range order {
		if user == "small" {
			smalls = append(smalls, position)
		}
		position++
	}
	require.Equal(t, 12, position)
	require.LessOrEqual(t, smalls[1], 3, "turns alternate: %v", smalls)
}

// TestUserHoldsHalfOfTheShareWhileOthersWait checks that a lone user gets all that the
// organisation may hold, and that released turns then go to other users first.
func TestUserHoldsHalfOfTheShareWhileOthersWait(t *testing.T) {
	p := newPool(t, &fakeEngine{}, sessions.Options{MaxRunning: 8, OrgShare: 1, Budget: 64 << 30, Linger: time.Nanosecond})
	var greedy []*sessions.Held
	for range 8 {
		greedy = append(greedy, acquire(t, p, sessions.Key{Org: "o", User: "greedy"}))
	}
	granted := make(chan *sessions.Held, 20)
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wait := func(user string) {
		before := p.Stats().Queued
		wg.Go(func() {
			if h, err := p.Acquire(ctx, sessions.Key{Org: "o", User: user, Roots: []string{user}}); err == nil {
				granted <- h
			}
		})
		require.Eventually(t, func() bool { return p.Stats().Queued == before+1 }, time.Minute, time.Millisecond)
	}
	for range 6 {
		wait("greedy")
	}
	for range 6 {
		wait("small")
	}
	var held []*sessions.Held
	var half, all map[string]int
	users := func() map[string]int {
		n := map[string]int{}
		for _, h := range held {
			n[fake(h).roots[0]]++
		}
		return n
	}
	for i, h := range greedy {
		h.Release()
		held = append(held, <-granted)
		switch i {
		case 3:
			half = users()
		case 7:
			all = users()
		}
	}
	cancel()
	for _, h := range held {
		h.Release()
	}
	wg.Wait()
	for len(granted) > 0 {
		(<-granted).Release()
	}
	require.Equal(t, map[string]int{"small": 4}, half, "the greedy one holds half or more at each of these turns")
	require.Equal(t, map[string]int{"small": 4, "greedy": 4}, all, "both hold half")
}

// TestWarmSessionDoesNotJumpTheQueue checks that a lingering session serves the next
// statement of its key immediately only if no other statement waits.
func TestWarmSessionDoesNotJumpTheQueue(t *testing.T) {
	p := newPool(t, &fakeEngine{}, sessions.Options{MaxRunning: 1, Linger: time.Hour})
	greedy := sessions.Key{Org: "o", User: "greedy"}
	h := acquire(t, p, greedy)
	first := make(chan string, 2)
	var wg sync.WaitGroup
	wg.Go(func() {
		h, err := p.Acquire(context.Background(), sessions.Key{Org: "o", User: "small"})
		if err != nil {
			t.Error(err)
			return
		}
		first <- "small"
		h.Release()
	})
	require.Eventually(t, func() bool { return p.Stats().Queued == 1 }, time.Minute, time.Millisecond)
	h.Release()
	h = acquire(t, p, greedy)
	first <- "greedy"
	h.Release()
	wg.Wait()
	require.Equal(t, "small", <-first)
}

// TestOneUserCannotFillTheQueueOfItsOrganisation checks that places remain for other
// users.
func TestOneUserCannotFillTheQueueOfItsOrganisation(t *testing.T) {
	p := newPool(t, &fakeEngine{}, sessions.Options{MaxRunning: 1, MaxQueued: 16, MaxQueuedOrg: 8})
	blocker := acquire(t, p, sessions.Key{Org: "o", User: "greedy"})
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wait := func(user string) {
		before := p.Stats().Queued
		wg.Go(func() {
			h, err := p.Acquire(ctx, sessions.Key{Org: "o", User: user})
			if err == nil {
				h.Release()
			}
		})
		require.Eventually(t, func() bool { return p.Stats().Queued == before+1 }, time.Minute, time.Millisecond)
	}
	for range 6 {
		wait("greedy")
	}
	t.Cleanup(func() { // before the pool is closed
		cancel()
		blocker.Release()
		wg.Wait()
	})
	require.NoError(t, p.Room("o", "small"))
	err := p.Room("o", "greedy")
	var busy *sessions.BusyError
	require.ErrorAs(t, err, &busy)
	require.Equal(t, "user", busy.Scope)
	wait("small")
}
