package sessions

import (
	"container/list"
	"context"
	"sync"
	"time"
)

// budget shares memory and turns among organisations. Every field is guarded
// by mu. free+Σheld = total at all times.
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

type orgQueue struct {
	id      string
	held    int64
	running int
	waiters *list.List // of *waiter
	turn    *list.Element
}

type waiter struct {
	granted chan int64 // buffered; receives the lease
	elem    *list.Element
}

func newBudget(opts Options) *budget {
	return &budget{opts: opts, free: opts.Budget, orgs: map[string]*orgQueue{}, turns: list.New()}
}

// acquire waits for a turn of org and returns the memory granted to it.
func (b *budget) acquire(ctx context.Context, org string) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	b.mu.Lock()
	w, err := b.enqueue(org)
	if err != nil {
		b.mu.Unlock()
		return 0, err
	}
	b.dispatch()
	b.mu.Unlock()

	timer := time.NewTimer(b.opts.MaxWait)
	defer timer.Stop()
	select {
	case n, ok := <-w.granted:
		if !ok {
			return 0, ErrClosed
		}
		return n, nil
	case <-ctx.Done():
		return 0, b.abandon(org, w, ctx.Err())
	case <-timer.C:
		return 0, b.abandon(org, w, &BusyError{Scope: "server", RetryAfter: time.Second})
	}
}

// room returns why org cannot wait now, or nil. The caller holds mu.
func (b *budget) room(org string) error {
	q := b.orgs[org]
	switch {
	case b.closed:
		return ErrClosed
	case b.queued >= b.opts.MaxQueued:
		return &BusyError{Scope: "server", RetryAfter: 2 * time.Second}
	case q != nil && q.waiters.Len() >= b.opts.MaxQueuedOrg:
		return &BusyError{Scope: "organisation", RetryAfter: 2 * time.Second}
	}
	return nil
}

func (b *budget) enqueue(org string) (*waiter, error) {
	if err := b.room(org); err != nil {
		return nil, err
	}
	q := b.orgs[org]
	if q == nil {
		q = &orgQueue{id: org, waiters: list.New()}
		b.orgs[org] = q
	}
	w := &waiter{granted: make(chan int64, 1)}
	w.elem = q.waiters.PushBack(w)
	b.queued++
	if q.turn == nil {
		q.turn = b.turns.PushBack(q)
	}
	return w, nil
}

// abandon withdraws w. A grant that came at the same moment is given back.
func (b *budget) abandon(org string, w *waiter, cause error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case n, ok := <-w.granted:
		if ok {
			b.putBack(org, n)
		}
	default:
		b.unqueue(b.orgs[org], w)
	}
	b.dispatch()
	return cause
}

func (b *budget) unqueue(q *orgQueue, w *waiter) {
	q.waiters.Remove(w.elem)
	b.queued--
	if q.waiters.Len() == 0 {
		b.turns.Remove(q.turn)
		q.turn = nil
		b.forget(q)
	}
}

func (b *budget) forget(q *orgQueue) {
	if q.running == 0 && q.waiters.Len() == 0 {
		delete(b.orgs, q.id)
	}
}

func (b *budget) release(org string, n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.putBack(org, n)
	b.dispatch()
}

func (b *budget) putBack(org string, n int64) {
	q := b.orgs[org]
	q.held -= n
	q.running--
	b.free += n
	b.running--
	b.forget(q)
}

// dispatch serves organisations in turn while there is room. An organisation
// above its share is passed over as long as another one waits.
func (b *budget) dispatch() {
	for b.running < b.opts.MaxRunning && b.free >= MinLease {
		q := b.next()
		if q == nil {
			return
		}
		w := q.waiters.Front().Value.(*waiter)
		n := b.grant(q)
		q.held += n
		q.running++
		b.free -= n
		b.running++
		b.unqueue(q, w)
		if q.turn != nil {
			b.turns.MoveToBack(q.turn)
		}
		w.granted <- n
	}
}

func (b *budget) next() *orgQueue {
	for e := b.turns.Front(); e != nil; e = e.Next() {
		if q := e.Value.(*orgQueue); !b.aboveShare(q) {
			return q
		}
	}
	for e := b.turns.Front(); e != nil; e = e.Next() {
		if q := e.Value.(*orgQueue); b.leavesRoom(q) {
			return q
		}
	}
	return nil
}

// aboveShare reports that one more statement takes an organisation over the
// memory or the turns it may hold while others wait.
func (b *budget) aboveShare(q *orgQueue) bool {
	return float64(q.held+MinLease) > float64(b.opts.Budget)*b.opts.OrgShare ||
		float64(q.running+1) > float64(b.opts.MaxRunning)*b.opts.OrgShare
}

// leavesRoom reports that after one more statement of an organisation above its
// share, another organisation could still start one at once. An organisation
// that runs nothing is always served.
func (b *budget) leavesRoom(q *orgQueue) bool {
	return q.running == 0 || b.running+1 < b.opts.MaxRunning && b.free >= 2*MinLease
}

// grant divides what is free among the statements that wait, so that a burst
// gets small leases at once instead of large ones in sequence. What keeps the
// door open for another organisation is not given away.
func (b *budget) grant(q *orgQueue) int64 {
	n := min(max(b.free/int64(max(1, b.queued)), MinLease), b.opts.Lease, b.free)
	if q.running > 0 || b.aboveShare(q) {
		n = max(min(n, b.free-MinLease), MinLease)
	}
	return n
}

// close wakes every waiter with ErrClosed and refuses new ones.
func (b *budget) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	for e := b.turns.Front(); e != nil; e = b.turns.Front() {
		q := e.Value.(*orgQueue)
		w := q.waiters.Front().Value.(*waiter)
		b.unqueue(q, w)
		close(w.granted)
	}
}

// crowded reports that a statement which came now would have to wait, or would
// get less than the usual lease.
func (b *budget) crowded() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.queued > 0 || b.running >= b.opts.MaxRunning || b.free < b.opts.Lease
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
