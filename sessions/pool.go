package sessions

import (
	"container/list"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lakewarden/lakewarden/engine"
)

// Key says whom a session belongs to and what it can reach.
type Key struct {
	Org, User string
	// Roots are the directories visible to the user. Order does not matter.
	Roots []string
}

func (k Key) id() string {
	roots := slices.Clone(k.Roots)
	slices.Sort(roots)
	return k.Org + "\x00" + k.User + "\x00" + strings.Join(roots, "\x00")
}

// Pool keeps sessions. It is safe for concurrent use.
type Pool struct {
	eng    engine.Engine
	opts   Options
	budget *budget
	m      *metrics

	mu     sync.Mutex
	closed bool
	idle   map[string][]*list.Element // of *warm, per key; the last was used last
	lru    *list.List                 // of *warm; the front is the oldest
	// work counts held sessions, sessions in closing, and the sweeper.
	work sync.WaitGroup
	stop chan struct{}
}

type warm struct {
	key, org, user string
	session        engine.Session
	since          time.Time
}

// New starts a pool over eng. The caller closes it before the engine.
func New(eng engine.Engine, opts Options) *Pool {
	opts = opts.withDefaults()
	p := &Pool{
		eng: eng, opts: opts, budget: newBudget(opts),
		idle: map[string][]*list.Element{}, lru: list.New(), stop: make(chan struct{}),
	}
	p.m = newMetrics(opts.Registerer, p)
	p.work.Add(1)
	go p.sweep()
	return p
}

// Held is a session taken for one statement.
type Held struct {
	engine.Session
	// Lease is what the statement may use.
	Lease engine.Lease
	// Queued is how long the turn took to come.
	Queued time.Duration

	pool *Pool
	key  Key
	once sync.Once
}

// Acquire waits for a turn and returns a session of key. The caller releases it
// exactly when the statement's result is closed; Release is safe to call more
// than once. Errors: ErrBusy, ErrClosed, the context's, and the engine's.
func (p *Pool) Acquire(ctx context.Context, key Key) (*Held, error) {
	start := p.opts.Now()
	mem, err := p.budget.acquire(ctx, key.Org)
	if err != nil {
		return nil, err
	}
	session, err := p.take(ctx, key)
	if err != nil {
		p.budget.release(key.Org, mem)
		return nil, err
	}
	queued := p.opts.Now().Sub(start)
	p.m.queued(queued)
	return &Held{
		Session: session, pool: p, key: key, Queued: queued,
		Lease: engine.Lease{Memory: mem, Threads: p.opts.Threads, TempBytes: p.opts.TempBytes},
	}, nil
}

// take returns a warm session of key or opens one.
func (p *Pool) take(ctx context.Context, key Key) (engine.Session, error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, ErrClosed
	}
	p.work.Add(1)
	id := key.id()
	if elems := p.idle[id]; len(elems) > 0 {
		w := p.forget(elems[len(elems)-1])
		p.mu.Unlock()
		return w.session, nil
	}
	p.mu.Unlock()
	session, err := p.eng.Open(ctx, engine.SessionOptions{Roots: slices.Clone(key.Roots)})
	if err != nil {
		p.work.Done()
		return nil, err
	}
	return session, nil
}

// forget takes a warm session out of both indexes.
func (p *Pool) forget(e *list.Element) *warm {
	w := p.lru.Remove(e).(*warm)
	rest := slices.DeleteFunc(p.idle[w.key], func(x *list.Element) bool { return x == e })
	if len(rest) == 0 {
		delete(p.idle, w.key)
	} else {
		p.idle[w.key] = rest
	}
	return w
}

// Release gives the session back. A broken one is closed.
func (h *Held) Release() {
	h.once.Do(func() { h.pool.release(h) })
}

func (p *Pool) release(h *Held) {
	defer p.work.Done()
	keep := !h.Session.Broken()
	if keep {
		// Idle is local work of a few milliseconds; a failure means that the
		// session cannot be trusted with its memory any more.
		keep = h.Session.Idle(context.Background(), p.opts.IdleBytes/int64(p.opts.MaxIdle)) == nil
	}
	var evicted []*warm
	p.mu.Lock()
	if keep = keep && !p.closed; keep {
		id := h.key.id()
		w := &warm{key: id, org: h.key.Org, user: h.key.User, session: h.Session, since: p.opts.Now()}
		p.idle[id] = append(p.idle[id], p.lru.PushBack(w))
		for p.lru.Len() > p.opts.MaxIdle {
			evicted = append(evicted, p.forget(p.lru.Front()))
		}
	}
	p.mu.Unlock()
	if !keep {
		_ = h.Session.Close()
	}
	closeAll(evicted)
	p.budget.release(h.key.Org, h.Lease.Memory)
}

// Drop closes the idle sessions for which match is true. Sessions in use are
// not touched: their key does not come up again when visibility has changed.
func (p *Pool) Drop(match func(org, user string) bool) int {
	return p.dropWhere(func(w *warm) bool { return match(w.org, w.user) })
}

func (p *Pool) dropWhere(match func(*warm) bool) int {
	var dropped []*warm
	p.mu.Lock()
	for e := p.lru.Front(); e != nil; {
		next := e.Next()
		if match(e.Value.(*warm)) {
			dropped = append(dropped, p.forget(e))
		}
		e = next
	}
	p.mu.Unlock()
	closeAll(dropped)
	return len(dropped)
}

func closeAll(ws []*warm) {
	for _, w := range ws {
		_ = w.session.Close()
	}
}

func (p *Pool) sweep() {
	defer p.work.Done()
	tick := time.NewTicker(max(p.opts.IdleTimeout/4, 10*time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-tick.C:
			cutoff := p.opts.Now().Add(-p.opts.IdleTimeout)
			p.dropWhere(func(w *warm) bool { return w.since.Before(cutoff) })
		}
	}
}

// Close refuses new statements and waits for running ones until ctx ends. It
// returns ctx's error when some were still running then. It must be called once.
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

// Stats is a moment's view of the pool.
type Stats struct {
	Running, Queued, Idle int
	HeldBytes             int64
}

// Stats counts sessions and memory.
func (p *Pool) Stats() Stats {
	var s Stats
	s.Running, s.Queued, s.HeldBytes = p.budget.stats()
	p.mu.Lock()
	s.Idle = p.lru.Len()
	p.mu.Unlock()
	return s
}
