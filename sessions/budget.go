package sessions

import (
	"container/list"
	"context"
	"slices"
	"sync"
	"time"
)

// budget shares memory and turns among organisations. mu guards every field. free+Σheld
// = total at all times. Memory that no lease covers is measured when a lease is
// granted, and reduces the grant.
type budget struct {
	opts Options

	mu      sync.Mutex
	free    int64
	running int
	queued  int
	closed  bool
	orgs    map[string]*orgQueue
	turns   *list.List // of *orgQueue with waiters; the front is served next
}

func newBudget(opts Options) *budget {
	return &budget{opts: opts, free: opts.Budget, orgs: map[string]*orgQueue{}, turns: list.New()}
}

// acquire waits for the turn of a user of org and returns the memory granted. It calls
// reclaim if memory that no lease covers prevents the grant, and end with the slow statements
// that have to end.
func (b *budget) acquire(ctx context.Context, org, user string, reclaim func(), end func([]*slowStatement)) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	b.mu.Lock()
	w, err := b.enqueue(org, user)
	if err != nil {
		b.mu.Unlock()
		return 0, err
	}
	b.dispatch()
	chosen := b.relieve()
	b.mu.Unlock()
	end(chosen)
	if b.short() {
		reclaim()
		b.retry()
	}

	timer := time.NewTimer(b.opts.MaxWait)
	defer timer.Stop()
	select {
	case n, ok := <-w.granted:
		if !ok {
			return 0, ErrClosed
		}
		return n, nil
	case <-ctx.Done():
		return 0, b.abandon(w, ctx.Err())
	case <-timer.C:
		return 0, b.abandon(w, &BusyError{Scope: "server", RetryAfter: time.Second})
	}
}

// refusal returns why a user of org cannot be queued now, or nil. The caller holds mu.
func (b *budget) refusal(org, user string) error {
	waiting, ofUser := b.waitingOf(org, user)
	switch {
	case b.closed:
		return ErrClosed
	case b.queued >= b.opts.MaxQueued:
		return &BusyError{Scope: "server", RetryAfter: 2 * time.Second}
	case waiting >= b.opts.MaxQueuedOrg:
		return &BusyError{Scope: "organisation", RetryAfter: 2 * time.Second}
	case ofUser >= b.opts.MaxQueuedUser:
		return &BusyError{Scope: "user", RetryAfter: 2 * time.Second}
	}
	return nil
}

func (b *budget) enqueue(org, user string) (*waiter, error) {
	if err := b.refusal(org, user); err != nil {
		return nil, err
	}
	q := b.orgs[org]
	if q == nil {
		q = newOrgQueue(org)
		b.orgs[org] = q
	}
	b.queued++
	if q.turn == nil {
		q.turn = b.turns.PushBack(q)
	}
	return q.push(user), nil
}

// abandon withdraws w. A grant that arrived concurrently is returned.
func (b *budget) abandon(w *waiter, cause error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case n, ok := <-w.granted:
		if ok {
			b.putBack(w.user.org.id, w.user.id, n)
		}
	default:
		b.unqueue(w)
	}
	b.dispatch()
	return cause
}

func (b *budget) unqueue(w *waiter) {
	q := w.user.org
	q.remove(w)
	b.queued--
	if q.waiting == 0 {
		b.turns.Remove(q.turn)
		q.turn = nil
		b.forget(q)
	}
}

func (b *budget) forget(q *orgQueue) {
	if q.running == 0 && q.waiting == 0 {
		delete(b.orgs, q.id)
	}
}

func (b *budget) release(org, user string, n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.putBack(org, user, n)
	b.dispatch()
}

func (b *budget) putBack(org, user string, n int64) {
	q := b.orgs[org]
	q.hold(user, -1, -n)
	b.free += n
	b.running--
	b.forget(q)
}

// dispatch serves waiters while there is room.
func (b *budget) dispatch() {
	for b.serveOne() != nil {
		continue
	}
}

// serveOne grants one turn and returns its waiter, or nil if there is no room. It skips
// an organisation above its share while another one waits and, within an organisation,
// a user above half of that share while another user waits.
func (b *budget) serveOne() *waiter {
	if b.queued == 0 || b.running >= b.opts.MaxRunning || b.free < MinLease {
		return nil
	}
	q := b.next(b.room(another))
	if q == nil {
		return nil
	}
	room := b.room(q.id)
	if room < MinLease && b.running > 0 {
		return nil // the next release serves q first
	}
	u := b.nextUser(q)
	w := u.waiters.Front().Value.(*waiter)
	n := b.grant(q, room, b.room(q.id, another))
	if q.turns.Len() > 1 { // another user of the organisation waits
		n = max(min(n, b.userShare()-u.held), MinLease)
	}
	q.hold(u.id, 1, n)
	b.free -= n
	b.running++
	b.unqueue(w)
	if q.turn != nil {
		b.turns.MoveToBack(q.turn)
	}
	if u.turn != nil {
		q.turns.MoveToBack(u.turn)
	}
	w.granted <- n
	return w
}

// another is the id of an organisation without a statement and without a process.
const another = ""

// room returns the memory that is available for leases while statements of more
// organisations run as well.
func (b *budget) room(more ...string) int64 {
	for id, q := range b.orgs {
		if q.running > 0 && !slices.Contains(more, id) {
			more = append(more, id)
		}
	}
	return b.free - b.opts.Overhead(more)
}

// short reports whether a statement waits that could run if leases covered all memory
// in use.
func (b *budget) short() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.queued > 0 && b.running < b.opts.MaxRunning && b.free >= MinLease && b.next(b.free) != nil
}

// retry serves waiters after memory that no lease covers has changed.
func (b *budget) retry() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.dispatch()
}

// working reports whether an organisation runs statements.
func (b *budget) working(org string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	q := b.orgs[org]
	return q != nil && q.running > 0
}

// next returns the organisation whose turn it is. spare is the memory that would be
// available for leases if another organisation started a process.
func (b *budget) next(spare int64) *orgQueue {
	for e := b.turns.Front(); e != nil; e = e.Next() {
		if q := e.Value.(*orgQueue); !b.aboveShare(q) {
			return q
		}
	}
	for e := b.turns.Front(); e != nil; e = e.Next() {
		if q := e.Value.(*orgQueue); b.leavesRoom(q, spare) {
			return q
		}
	}
	return nil
}

// aboveShare reports whether one more statement takes an organisation over the memory
// or the turns it may hold while others wait.
func (b *budget) aboveShare(q *orgQueue) bool {
	return float64(q.held+MinLease) > float64(b.opts.Budget)*b.opts.OrgShare ||
		float64(q.running+1) > float64(b.opts.MaxRunning)*b.opts.OrgShare
}

// leavesRoom reports whether another organisation could still start a statement
// immediately after one more statement of an organisation above its share. An
// organisation that runs nothing is always served.
func (b *budget) leavesRoom(q *orgQueue, spare int64) bool {
	return q.running == 0 || b.running+1 < b.opts.MaxRunning && spare >= 2*MinLease
}

// grant divides the free memory among the waiting statements, so that a burst gets
// small leases at once instead of large ones in sequence. It reserves the room for
// another organisation and its process. One statement can always run, however much
// memory no lease covers.
func (b *budget) grant(q *orgQueue, room, spare int64) int64 {
	n := max(min(room/int64(max(1, b.queued)), b.opts.Lease), MinLease)
	if q.running > 0 || b.aboveShare(q) {
		n = max(min(n, spare-MinLease), MinLease)
	}
	return n
}

// close wakes every waiter with ErrClosed and refuses new ones.
func (b *budget) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	for e := b.turns.Front(); e != nil; e = b.turns.Front() {
		u := e.Value.(*orgQueue).turns.Front().Value.(*userQueue)
		w := u.waiters.Front().Value.(*waiter)
		b.unqueue(w)
		close(w.granted)
	}
}

// crowded reports whether a new statement would have to wait or would get less than the
// usual lease.
func (b *budget) crowded() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.queued > 0 || b.running >= b.opts.MaxRunning {
		return true
	}
	overhead := b.opts.Overhead(nil)
	usual := min(b.opts.Lease, max(b.opts.Budget-overhead, MinLease))
	return b.free-overhead < usual
}

// waiting reports whether a statement waits.
func (b *budget) waiting() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.queued > 0
}

func (b *budget) stats() (running, queued int, held int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.running, b.queued, b.opts.Budget - b.free
}
