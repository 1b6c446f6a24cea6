package sessions

import (
	"container/list"
	"context"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lakewarden/lakewarden/engine"
)

// Key identifies the owner of a session and what the session can reach.
type Key struct {
	Org, User string
	// Roots are the roots that the user can see; see engine.SessionOptions and the
	// engines that wrap others. Their order is irrelevant.
	Roots []string
	// ServiceRoots are further roots, which the server reads for the user whether or not
	// the user can see them.
	ServiceRoots []string
}

// optionsOf returns the options for a session of key.
func optionsOf(key Key) engine.SessionOptions {
	return engine.SessionOptions{Owner: key.Org, Roots: slices.Concat(key.Roots, key.ServiceRoots)}
}

func (k Key) id() string {
	fields := []string{k.Org, k.User}
	for _, roots := range [][]string{k.Roots, k.ServiceRoots} {
		fields = append(append(fields, slices.Sorted(slices.Values(roots))...), "") // no root is empty
	}
	return strings.Join(fields, "\x00")
}

// Pool manages sessions. It is safe for concurrent use.
type Pool struct {
	eng    engine.Engine
	opts   Options
	budget *budget
	m      *metrics

	mu     sync.Mutex
	closed bool
	idle   map[string][]*list.Element // of *warm, per key; the most recently used is last
	lru    *list.List                 // of *warm; the least recently used is at the front
	// opening holds the keys for which Prepare is opening a session.
	opening map[string]chan struct{}
	// live holds all open sessions.
	live map[*opened]struct{}
	// work counts sessions that are in no index (held, settling, closing), and the
	// sweeper.
	work sync.WaitGroup
	stop chan struct{}
}

// warm is a session between two statements. After a statement it lingers: it retains
// its lease, so that the next statement of the same key starts without waiting and
// without changing the settings of the engine. It settles, which returns memory and
// turn, when its time to linger is over or when another statement needs the room.
type warm struct {
	key     Key
	id      string // of key
	session *opened
	since   time.Time
	linger  time.Duration // the time to linger after since
	lease   int64         // bytes still held; 0 once settled
}

// New starts a pool over eng. The caller closes it before the engine.
func New(eng engine.Engine, opts Options) *Pool {
	opts = opts.withDefaults()
	p := &Pool{
		eng: eng, opts: opts, budget: newBudget(opts),
		idle: map[string][]*list.Element{}, lru: list.New(), stop: make(chan struct{}),
		opening: map[string]chan struct{}{}, live: map[*opened]struct{}{},
	}
	p.m = newMetrics(opts.Registerer, p)
	p.work.Add(1)
	go p.sweep()
	return p
}

// Held is a session acquired for one statement.
type Held struct {
	engine.Session
	// Lease is the resources that the statement may use.
	Lease engine.Lease
	// Queued is the time spent waiting for a turn.
	Queued time.Duration

	pool   *Pool
	key    Key
	opened *opened
	// oneOff reports that Release closes the session.
	oneOff bool
	once   sync.Once
	// slow is not nil while the client reads slowly.
	slow *slowStatement
}

// Acquire waits for a turn and returns a session of key. The caller must release it
// exactly when the statement's result is closed. Release may be called more than once, but
// after it neither Slow nor Fast.
// Errors are ErrBusy, ErrClosed, those of the context and those of the engine.
func (p *Pool) Acquire(ctx context.Context, key Key) (*Held, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	start := p.opts.Now()
	id := key.id()
	// While others wait, a user with a lingering session must not skip the queue.
	if !p.budget.waiting() {
		if w := p.pick(id, true); w != nil {
			p.m.queued(0)
			return p.hold(w.session, key, w.lease, 0), nil
		}
	}
	return p.turn(ctx, key, start, func() (*opened, error) { return p.take(ctx, id, key) })
}

// turn waits for a turn and then opens a session.
func (p *Pool) turn(ctx context.Context, key Key, start time.Time, open func() (*opened, error)) (*Held, error) {
	if p.budget.crowded() {
		p.settle(func(*warm) bool { return true })
	}
	mem, err := p.budget.acquire(ctx, key.Org, key.User, p.reclaim, p.endSlow)
	if err != nil {
		return nil, err
	}
	session, err := open()
	if err != nil {
		p.budget.release(key.Org, key.User, mem)
		return nil, err
	}
	queued := p.opts.Now().Sub(start)
	p.m.queued(queued)
	return p.hold(session, key, mem, queued), nil
}

func (p *Pool) hold(session *opened, key Key, mem int64, queued time.Duration) *Held {
	return &Held{
		Session: session.Session, opened: session, pool: p, key: key, Queued: queued,
		Lease: engine.Lease{Memory: mem, Threads: p.opts.Threads, TempBytes: p.opts.TempBytes},
	}
}

// Room returns the error with which Acquire would immediately refuse a statement of a
// user of org, or nil. Callers check it before they spend work on the statement.
func (p *Pool) Room(org, user string) error {
	p.budget.mu.Lock()
	defer p.budget.mu.Unlock()
	return p.budget.refusal(org, user)
}

// take returns a warm session of key or opens one. The caller has a lease.
func (p *Pool) take(ctx context.Context, id string, key Key) (*opened, error) {
	if err := p.prepared(ctx, id); err != nil {
		return nil, err
	}
	if w := p.pick(id, false); w != nil {
		if w.lease > 0 { // it started to linger during the wait
			p.budget.release(w.key.Org, w.key.User, w.lease)
		}
		return w.session, nil
	}
	return p.fresh(ctx, optionsOf(key))
}

// fresh opens a session and counts it in work. The caller has a lease.
func (p *Pool) fresh(ctx context.Context, opts engine.SessionOptions) (*opened, error) {
	p.mu.Lock()
	closed := p.closed
	if !closed {
		p.work.Add(1)
	}
	p.mu.Unlock()
	if closed {
		return nil, ErrClosed
	}
	session, err := p.open(ctx, opts)
	if err != nil {
		p.work.Done()
	}
	return session, err
}

// pick removes the most recently used warm session of a key from the pool and returns
// it, or nil if there is none, or none that lingers if lingering is true.
func (p *Pool) pick(id string, lingering bool) *warm {
	p.mu.Lock()
	defer p.mu.Unlock()
	elems := p.idle[id]
	for i := len(elems) - 1; i >= 0 && !p.closed; i-- {
		if w := elems[i].Value.(*warm); !lingering || w.lease > 0 {
			p.work.Add(1)
			return p.forget(elems[i])
		}
	}
	return nil
}

// forget removes a warm session from both indexes.
func (p *Pool) forget(e *list.Element) *warm {
	w := p.lru.Remove(e).(*warm)
	rest := slices.DeleteFunc(p.idle[w.id], func(x *list.Element) bool { return x == e })
	if len(rest) == 0 {
		delete(p.idle, w.id)
	} else {
		p.idle[w.id] = rest
	}
	return w
}

// Release returns the session to the pool. A broken one is closed.
func (h *Held) Release() {
	h.once.Do(func() { h.pool.release(h) })
}

func (p *Pool) release(h *Held) {
	defer p.work.Done()
	h.Fast()
	w := &warm{key: h.key, id: h.key.id(), session: h.opened, since: p.opts.Now(), linger: p.opts.lingerOf(h.key), lease: h.Lease.Memory}
	if h.oneOff || h.Session.Broken() {
		p.discard(w)
		return
	}
	p.keep(w)
	// A statement that started to wait in the meantime found no lingering session. One
	// that starts to wait after this check waits no longer than Linger.
	if p.budget.waiting() {
		p.settle(func(*warm) bool { return true })
	}
}

// keep adds a session to the warm ones.
func (p *Pool) keep(w *warm) {
	var evicted []*warm
	p.mu.Lock()
	if p.closed || w.session.outdated || p.aged(w) {
		evicted = append(evicted, w)
	} else {
		p.idle[w.id] = append(p.idle[w.id], p.lru.PushBack(w))
		for p.lru.Len() > p.opts.MaxIdle {
			evicted = append(evicted, p.forget(p.lru.Front()))
		}
	}
	p.mu.Unlock()
	p.discard(evicted...)
}

// settle makes the lingering sessions for which match is true return memory and turn. A
// session that fails to do so is closed.
func (p *Pool) settle(match func(*warm) bool) {
	for _, w := range p.collect(func(w *warm) bool { return w.lease > 0 && match(w) }) {
		err := w.session.Idle(context.Background(), p.opts.IdleBytes/int64(p.opts.MaxIdle))
		lease := w.lease
		w.lease = 0
		p.budget.release(w.key.Org, w.key.User, lease)
		if err != nil {
			p.discard(w)
		} else {
			p.keep(w)
		}
		p.work.Done()
	}
}

// reclaim closes warm sessions of organisations that run nothing, and ends the
// processes that served them, because others wait for their memory.
func (p *Pool) reclaim() {
	p.dropWhere(func(w *warm) bool { return w.lease == 0 && !p.budget.working(w.key.Org) })
	p.opts.Reclaim()
}

// collect removes the warm sessions for which match is true from the pool. Each is
// counted in work until the caller has finished with it.
func (p *Pool) collect(match func(*warm) bool) []*warm {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []*warm
	for e := p.lru.Front(); e != nil; {
		next := e.Next()
		if match(e.Value.(*warm)) {
			p.work.Add(1)
			out = append(out, p.forget(e))
		}
		e = next
	}
	return out
}

// discard closes sessions that are in no index and returns their memory and turns.
func (p *Pool) discard(ws ...*warm) {
	for _, w := range ws {
		_ = w.session.Close()
		p.forgetOpened(w.session)
		if w.lease > 0 {
			p.budget.release(w.key.Org, w.key.User, w.lease)
		}
	}
}

// Idle returns the keys of the idle sessions.
func (p *Pool) Idle() []Key {
	p.mu.Lock()
	defer p.mu.Unlock()
	keys := make([]Key, 0, len(p.idle))
	for _, elems := range p.idle {
		keys = append(keys, elems[0].Value.(*warm).key)
	}
	return keys
}

// Drop closes the idle sessions for whose keys match is true. Sessions in use are not
// affected.
func (p *Pool) Drop(match func(Key) bool) int {
	return p.dropWhere(func(w *warm) bool { return match(w.key) })
}

func (p *Pool) dropWhere(match func(*warm) bool) int {
	dropped := p.collect(match)
	for _, w := range dropped {
		p.discard(w)
		p.work.Done()
	}
	return len(dropped)
}

func (p *Pool) sweep() {
	defer p.work.Done()
	tick := time.NewTicker(max(min(p.opts.IdleTimeout, p.opts.Linger)/2, 10*time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-tick.C:
			now := p.opts.Now()
			p.settle(func(w *warm) bool { return now.Sub(w.since) > w.linger })
			if p.budget.short() {
				p.reclaim()
				p.budget.retry()
			}
			dropped := p.dropWhere(func(w *warm) bool { return now.Sub(w.since) > p.opts.IdleTimeout || p.aged(w) })
			if dropped > 0 && p.Stats() == (Stats{}) {
				// No statement runs: return the memory of the last burst to the system.
				debug.FreeOSMemory()
			}
		}
	}
}

// Close refuses new statements and waits for running ones until ctx ends. It returns
// the error of ctx if some were still running then. It must be called once.
func (p *Pool) Close(ctx context.Context) error {
	p.budget.close()
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	close(p.stop)
	p.dropWhere(func(*warm) bool { return true })
	done := make(chan struct{})
	go func() { p.work.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Stats is a snapshot of the pool.
type Stats struct {
	Running, Queued, Idle int
	HeldBytes             int64
}

// Stats returns the numbers of sessions and their memory.
func (p *Pool) Stats() Stats {
	var s Stats
	p.mu.Lock()
	defer p.mu.Unlock()
	s.Running, s.Queued, s.HeldBytes = p.budget.stats()
	s.Idle = p.lru.Len()
	for e := p.lru.Front(); e != nil; e = e.Next() {
		if w := e.Value.(*warm); w.lease > 0 {
			s.Running--
			s.HeldBytes -= w.lease
		}
	}
	return s
}
