package sessions

import (
	"fmt"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// model predicts a budget from its requests and grants, independently of its queues.
type model struct {
	opts    Options
	held    []heldTurn
	waiting []*waitingTurn // in the order of arrival
}

type heldTurn struct {
	org, user string
	n         int64
}

type waitingTurn struct {
	org, user string
	w         *waiter
	// passed counts the turns given to other users of the organisation since this
	// waiter became the first of its user while the user was below half of the share.
	passed map[string]int
}

func (m *model) running(match func(heldTurn) bool) (count int, bytes int64) {
	for _, h := range m.held {
		if match(h) {
			count, bytes = count+1, bytes+h.n
		}
	}
	return count, bytes
}

// below reports whether one more minimal lease keeps a user within half of its
// organisation's share.
func (m *model) below(org, user string) bool {
	count, bytes := m.running(func(h heldTurn) bool { return h.org == org && h.user == user })
	return count == 0 || 2*float64(count+1) <= m.opts.OrgShare*float64(m.opts.MaxRunning) &&
		2*float64(bytes+MinLease) <= m.opts.OrgShare*float64(m.opts.Budget)
}

// orgBelow is like below for the share of an organisation.
func (m *model) orgBelow(org string) bool {
	count, bytes := m.running(func(h heldTurn) bool { return h.org == org })
	return float64(count+1) <= m.opts.OrgShare*float64(m.opts.MaxRunning) &&
		float64(bytes+MinLease) <= m.opts.OrgShare*float64(m.opts.Budget)
}

// granted checks one turn against the waiters at the time of the grant.
func (m *model) granted(t *rapid.T, w *waiter) {
	at := -1
	for i, x := range m.waiting {
		if x.w == w {
			at = i
		}
	}
	require.GreaterOrEqual(t, at, 0)
	got := m.waiting[at]
	n := <-w.granted
	for _, x := range m.waiting[:at] {
		require.False(t, x.org == got.org && x.user == got.user, "an earlier statement of the user waits")
	}
	others := false
	for _, x := range m.waiting {
		if x.org != got.org || x.user == got.user {
			continue
		}
		others = true
		require.True(t, m.below(got.org, got.user) || !m.below(x.org, x.user), "a user at half is not served before one below it")
	}
	count, bytes := m.running(func(h heldTurn) bool { return h.org == got.org && h.user == got.user })
	if others && count > 0 && m.below(got.org, got.user) {
		require.LessOrEqual(t, 2*float64(bytes+n), m.opts.OrgShare*float64(m.opts.Budget))
	}
	m.waiting = append(m.waiting[:at:at], m.waiting[at+1:]...)
	m.held = append(m.held, heldTurn{got.org, got.user, n})
	total, held := m.running(func(heldTurn) bool { return true })
	require.LessOrEqual(t, total, m.opts.MaxRunning)
	require.LessOrEqual(t, held, m.opts.Budget)
	require.GreaterOrEqual(t, n, MinLease)

	seen := map[string]bool{}
	for _, x := range m.waiting {
		first := !seen[x.org+"/"+x.user]
		seen[x.org+"/"+x.user] = true
		if x.org != got.org || x.user == got.user {
			continue
		}
		if !first || !m.below(x.org, x.user) {
			clear(x.passed)
			continue
		}
		x.passed[got.user]++
		require.LessOrEqual(t, x.passed[got.user], 1, "no user is served twice before another one below half")
	}
}

// idle checks that no statement waits for an available turn.
func (m *model) idle(t *rapid.T) {
	total, held := m.running(func(heldTurn) bool { return true })
	if len(m.waiting) == 0 || total >= m.opts.MaxRunning || m.opts.Budget-held < MinLease {
		return
	}
	for _, x := range m.waiting {
		running, _ := m.running(func(h heldTurn) bool { return h.org == x.org })
		require.False(t, m.orgBelow(x.org), "organisation below its share")
		require.Positive(t, running, "organisation without a statement")
		// The free memory is reserved for another organisation.
		require.True(t, total+1 >= m.opts.MaxRunning || m.opts.Budget-held < 2*MinLease, "room for one more than is set aside")
	}
}

// TestTurnsFollowTheModel checks, for any order of requests and releases, that turns
// are fair to users and that no available turn is left unused.
func TestTurnsFollowTheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		opts := Options{
			MaxRunning: rapid.IntRange(1, 12).Draw(t, "turns"),
			Budget:     MinLease * rapid.Int64Range(1, 24).Draw(t, "leases"),
			OrgShare:   rapid.SampledFrom([]float64{0.25, 0.5, 1}).Draw(t, "share"),
			Lease:      MinLease * rapid.Int64Range(1, 4).Draw(t, "lease"),
			MaxQueued:  1000, MaxQueuedOrg: 1000, MaxQueuedUser: 1000,
		}.withDefaults()
		b, m := newBudget(opts), &model{opts: opts}
		orgs := rapid.IntRange(1, 3).Draw(t, "orgs")
		users := rapid.IntRange(1, 4).Draw(t, "users")
		serve := func() {
			for w := b.serveOne(); w != nil; w = b.serveOne() {
				m.granted(t, w)
			}
			m.idle(t)
		}
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			switch what := rapid.IntRange(0, 9).Draw(t, "what"); {
			case what < 5:
				x := &waitingTurn{
					org: fmt.Sprint("o", rapid.IntRange(1, orgs).Draw(t, "org")), user: fmt.Sprint("u", rapid.IntRange(1, users).Draw(t, "user")),
					passed: map[string]int{},
				}
				w, err := b.enqueue(x.org, x.user)
				require.NoError(t, err)
				x.w = w
				m.waiting = append(m.waiting, x)
			case what < 9 && len(m.held) > 0:
				i := rapid.IntRange(0, len(m.held)-1).Draw(t, "back")
				h := m.held[i]
				m.held = append(m.held[:i:i], m.held[i+1:]...)
				b.putBack(h.org, h.user, h.n)
			case len(m.waiting) > 0:
				i := rapid.IntRange(0, len(m.waiting)-1).Draw(t, "gives up")
				b.unqueue(m.waiting[i].w)
				m.waiting = append(m.waiting[:i:i], m.waiting[i+1:]...)
			}
			serve()
		}
		for len(m.held) > 0 {
			h := m.held[0]
			m.held = m.held[1:]
			b.putBack(h.org, h.user, h.n)
			serve()
		}
		require.Empty(t, m.waiting, "all waiters are served in the end")
		require.Empty(t, maps.Collect(maps.All(b.orgs)))
		require.Zero(t, b.turns.Len())
		require.Equal(t, opts.Budget, b.free)
	})
}

// TestLoneUserGetsWholeShare checks that nothing is reserved for absent users.
func TestLoneUserGetsWholeShare(t *testing.T) {
	b := newBudget(Options{MaxRunning: 8, OrgShare: 1, Budget: 64 * MinLease, Lease: MinLease}.withDefaults())
	for range 8 {
		_, err := b.enqueue("o", "u")
		require.NoError(t, err)
	}
	for range 8 {
		require.NotNil(t, b.serveOne())
	}
}
