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

// Engine runs sessions in child processes. The sessions of one owner share a child, which starts
// with the first of them and ends after it had none for a while. It is safe for concurrent use.
type Engine struct {
	opts    Options
	metrics *metrics
	temp    *workdir.Dir
	spawner *spawner

	processes registry

	mu       sync.Mutex
	closed   bool
	sessions map[*session]struct{}
	slots    map[purpose]*slot
}

// purpose is what a process is for.
type purpose struct {
	owner string
	// uploads is set for a process that reads files from clients; see
	// [engine.SessionOptions.Uploads].
	uploads bool
}

// slot holds the current process for a purpose, or of a session with a process of its own.
type slot struct {
	purpose purpose
	// turn is held while a process is started.
	turn chan struct{}

	mu   sync.Mutex
	proc *process
	// failures is the number of consecutive processes that served nothing; the last one ended at
	// failedAt.
	failures int
	failedAt time.Time
}

// New returns an engine without processes. The first one starts with the first session. Once New
// has returned, no other process of this user can read the calling process's memory or trace it.
func New(opts Options) (*Engine, error) {
	if len(opts.Command) == 0 {
		return nil, errors.New("worker: no command")
	}
	shield()
	e := &Engine{opts: opts.withDefaults(), sessions: map[*session]struct{}{}, slots: map[purpose]*slot{}}
	var err error
	if e.temp, err = workdir.New(opts.TempDir, "lakewarden-workers-"); err != nil {
		return nil, err
	}
	e.metrics = newMetrics(opts.Registerer, e)
	e.spawner = newSpawner()
	return e, nil
}

// Open starts a session in the process for its purpose, or in one of its own. It starts the process
// if necessary. Errors of a process that cannot start are of kind KindFatal.
func (e *Engine) Open(ctx context.Context, opts engine.SessionOptions) (engine.Session, error) {
	if ctx.Err() != nil {
		return nil, engine.Interrupted(engine.CauseContext)
	}
	s := &session{owner: e, opts: opts}
	if use := (purpose{opts.Owner, opts.Uploads}); opts.Apart {
		s.slot = newSlot(use)
	} else {
		s.slot = e.slotOf(use)
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
	for _, p := range e.processes.all() {
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

// slotOf returns the slot for a purpose.
func (e *Engine) slotOf(use purpose) *slot {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.slots[use]
	if s == nil {
		s = newSlot(use)
		e.slots[use] = s
	}
	return s
}

func newSlot(use purpose) *slot { return &slot{purpose: use, turn: make(chan struct{}, 1)} }

// dial opens a link to the process in a slot.
func (e *Engine) dial(ctx context.Context, s *slot) (*link, error) {
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

func (s *slot) current() *process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.proc
}

// replace starts a new process in a slot whose turn the caller holds.
func (e *Engine) replace(ctx context.Context, s *slot) (*process, error) {
	if old := s.current(); old != nil {
		// The previous process must not be confused with its successor. A draining process
		// continues alongside it.
		if !old.drains() {
			select {
			case <-old.gone:
			case <-ctx.Done():
				return nil, engine.Interrupted(engine.CauseContext)
			}
		}
		s.recordEnd(old)
	}
	if wait := s.pause(time.Now()); wait > 0 {
		if err := sleep(ctx, wait); err != nil {
			return nil, err
		}
	}
	p, err := e.startProcess(s.purpose)
	if err != nil {
		s.failed()
		return nil, startError(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.proc = p
	return p, nil
}

// startError passes on the child's error about its engine, and hides others.
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

// If a process ended before it served anything, the start of the next one is delayed, longer after
// each failure.
const (
	firstWait = 25 * time.Millisecond
	mostWait  = 500 * time.Millisecond
)

// recordEnd records how the last process ended.
func (s *slot) recordEnd(old *process) {
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

func (s *slot) failed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures++
	s.failedAt = time.Now()
}

// pause returns how long the next start has to wait. A single failure causes no delay.
func (s *slot) pause(now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failures < 2 {
		return 0
	}
	wait := min(firstWait<<min(s.failures-2, 10), mostWait)
	return wait - now.Sub(s.failedAt)
}
