package sessions

import (
	"slices"
	"time"
)

// slowShare is the fraction of an organisation's turns and memory that the statements of one
// user may hold for slow clients while others wait. One such statement is always allowed.
const slowShare = 0.25

// SlowClient is a client that reads the rows of a statement more slowly than they come.
type SlowClient struct {
	// Rate returns how many bytes a second the client reads. It may be called from any
	// goroutine.
	Rate func() float64
	// End makes the statement end soon, with the given error. It is called once at most, must
	// not block and must not call the pool.
	End func(error)
}

// slowStatement is a running statement with a slow client.
type slowStatement struct {
	client SlowClient
	lease  int64
}

// Slow says that the statement's client reads slowly, until Fast or Release is called. While
// others wait, the slow statements of a user hold at most a quarter of the organisation's turns
// and memory: those with the slowest clients are ended.
func (h *Held) Slow(client SlowClient) {
	if h.slow != nil {
		return
	}
	h.slow = &slowStatement{client: client, lease: h.Lease.Memory}
	h.pool.endSlow(h.pool.budget.markSlow(h.key.Org, h.key.User, h.slow))
}

// Fast says that the statement's client has caught up.
func (h *Held) Fast() {
	if h.slow != nil {
		h.pool.budget.unmarkSlow(h.key.Org, h.key.User, h.slow)
		h.slow = nil
	}
}

// Awaited reports whether statements of other users wait for a turn.
func (h *Held) Awaited() bool { return h.pool.budget.awaited(h.key.Org, h.key.User) }

// endSlow ends statements that the budget has chosen.
func (p *Pool) endSlow(chosen []*slowStatement) {
	for _, s := range chosen {
		p.m.slowEnded.Inc()
		s.client.End(&BusyError{Scope: "user", RetryAfter: 2 * time.Second})
	}
}

func (b *budget) markSlow(org, user string, s *slowStatement) []*slowStatement {
	b.mu.Lock()
	defer b.mu.Unlock()
	u := b.orgs[org].user(user) // it runs the statement, so both exist
	u.slow = append(u.slow, s)
	return b.relieve()
}

// unmarkSlow does nothing for a statement that relieve has chosen.
func (b *budget) unmarkSlow(org, user string, s *slowStatement) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.orgs[org].user(user).dropSlow(s)
}

func (b *budget) awaited(org, user string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, ofUser := b.waitingOf(org, user)
	return b.queued > ofUser
}

// relieve chooses the slow statements that have to end because others wait. The caller holds
// mu, and calls it when a statement has begun to wait or a client has become slow.
func (b *budget) relieve() (chosen []*slowStatement) {
	if b.queued == 0 {
		return nil
	}
	for _, q := range b.orgs {
		for _, u := range q.users {
			for b.queued > u.waiters.Len() && b.aboveSlowShare(u) {
				s := u.slowest()
				u.dropSlow(s)
				chosen = append(chosen, s)
			}
		}
	}
	return chosen
}

// aboveSlowShare reports whether a user's slow statements hold more than they may while others
// wait.
func (b *budget) aboveSlowShare(u *userQueue) bool {
	if len(u.slow) <= 1 {
		return false
	}
	var held int64
	for _, s := range u.slow {
		held += s.lease
	}
	share := b.opts.OrgShare * slowShare
	return float64(held) > float64(b.opts.Budget)*share || float64(len(u.slow)) > float64(b.opts.MaxRunning)*share
}

func (u *userQueue) dropSlow(s *slowStatement) {
	u.slow = slices.DeleteFunc(u.slow, func(other *slowStatement) bool { return other == s })
}

// slowest returns the statement whose client reads least, of equal ones the youngest.
func (u *userQueue) slowest() *slowStatement {
	var slowest *slowStatement
	var least float64
	for _, s := range u.slow {
		if rate := s.client.Rate(); slowest == nil || rate <= least {
			slowest, least = s, rate
		}
	}
	return slowest
}
