package worker

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/workdir"
)

var _ engine.Engine = (*Engine)(nil)

// Engine runs sessions in child processes: those of one owner share a child,
// which starts with the first of them and ends when none was left for a while.
// It is safe for concurrent use.
type Engine struct {
	opts    Options
	metrics *metrics
	temp    *workdir.Dir
	spawner *spawner

	living living

	mu       sync.Mutex
	closed   bool
	sessions map[*session]struct{}
	seats    map[string]*seat
}

// seat is where an owner's process has its place, or that of a session apart.
type seat struct {
	owner string
	// turn is held while a process is started.
	turn chan struct{}

	mu   sync.Mutex
	proc *process
	// failures counts processes in a row that served nothing, the last one at
	// failedAt.
	failures int
	failedAt time.Time
}

// New returns an engine without processes. The first one starts with the first
// session. From now on no other process of this one's user can read its memory or
// trace it.
func New(opts Options) (*Engine, error) {
	if len(opts.Command) == 0 {
		return nil, errors.New("worker: no command")
	}
	shield()
	e := &Engine{opts: opts.withDefaults(), sessions: map[*session]struct{}{}, seats: map[string]*seat{}}
	var err error
	if e.temp, err = workdir.New(opts.TempDir, "lakewarden-workers-"); err != nil {
		return nil, err
	}
	e.metrics = newMetrics(opts.Registerer, e)
	e.spawner = newSpawner()
	return e, nil
}

// Open starts a session in the process of its owner, or in one of its own, and
// that process where there is none. Errors of a process that cannot start are of kind KindFatal.
func (e *Engine) Open(ctx context.Context, opts engine.SessionOptions) (engine.Session, error) {
	if ctx.Err() != nil {
		return nil, engine.Interrupted(engine.CauseContext)
	}
	s := &session{owner: e, opts: opts}
	if opts.Apart {
		s.seat = newSeat(opts.Owner)
	} else {
		s.seat = e.seatOf(opts.Owner)
	}
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return nil, engine.Interrupted(engine.CauseClosed)
	}
	e.sessions[s] = struct{}{}
	e.mu.Unlock()
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if opts.Scratch != "" {
		return writer{s}, nil
	}
	return s, nil
}

// Close closes every session and ends every process. It is idempotent.
func (e *Engine) Close() error {
	e.mu.Lock()
	again := e.closed
	e.closed = true
	open := make([]*session, 0, len(e.sessions))
	for s := range e.sessions {
		open = append(open, s)
	}
	e.mu.Unlock()
	errs := make([]error, len(open))
	var wg sync.WaitGroup
	for i, s := range open {
		wg.Go(func() { errs[i] = s.Close() })
	}
	wg.Wait()
	if again {
		return errors.Join(errs...)
	}
	for _, p := range e.living.all() {
		wg.Go(func() { p.retire(reasonClosed) })
	}
	wg.Wait()
	e.spawner.close()
	return errors.Join(append(errs, e.temp.Remove())...)
}

func (e *Engine) remove(s *session) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.sessions, s)
}

// seatOf is the seat of an owner.
func (e *Engine) seatOf(owner string) *seat {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.seats[owner]
	if s == nil {
		s = newSeat(owner)
		e.seats[owner] = s
	}
	return s
}

func newSeat(owner string) *seat { return &seat{owner: owner, turn: make(chan struct{}, 1)} }

// dial opens a link to the process in a seat.
func (e *Engine) dial(ctx context.Context, s *seat) (*link, error) {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return nil, engine.Interrupted(engine.CauseContext)
	}
	if p := s.current(); p != nil && p.usable() {
		return p.dial()
	}
	p, err := e.replace(ctx, s)
	if err != nil {
		return nil, err
	}
	return p.dial()
}

func (s *seat) current() *process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.proc
}

// replace starts a new process in a seat whose turn the caller holds.
func (e *Engine) replace(ctx context.Context, s *seat) (*process, error) {
	if old := s.current(); old != nil {
		// The remaining process must not be confused with its successor. A draining
		// one lives on next to the successor.
		if !old.drains() {
			select {
			case <-old.gone:
			case <-ctx.Done():
				return nil, engine.Interrupted(engine.CauseContext)
			}
		}
		s.judge(old)
	}
	if wait := s.pause(time.Now()); wait > 0 {
		if err := sleep(ctx, wait); err != nil {
			return nil, err
		}
	}
	p, err := e.startProcess(s.owner)
	if err != nil {
		s.failed()
		return nil, startError(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.proc = p
	return p, nil
}

// startError keeps what the child says of its engine, and hides the rest.
func startError(err error) error {
	var coded interface{ ProblemCode() string }
	if errors.As(err, &coded) {
		return err
	}
	text := err.Error()
	var own *engine.Error
	if errors.As(err, &own) {
		text = own.Class + ": " + own.Text
	}
	return fatal("worker_start", text)
}

// A process that ended before it served anything makes the next one wait, a
// little longer each time.
const (
	firstWait = 25 * time.Millisecond
	mostWait  = 500 * time.Millisecond
)

// judge remembers how the last process ended.
func (s *seat) judge(old *process) {
	served := old.hasServed()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc != old {
		return
	}
	s.proc = nil
	if served {
		s.failures = 0
		return
	}
	s.failures++
	s.failedAt = time.Now()
}

func (s *seat) failed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures++
	s.failedAt = time.Now()
}

// pause is how long the next start has to wait. One failure is no pattern.
func (s *seat) pause(now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failures < 2 {
		return 0
	}
	wait := min(firstWait<<min(s.failures-2, 10), mostWait)
	return wait - now.Sub(s.failedAt)
}
