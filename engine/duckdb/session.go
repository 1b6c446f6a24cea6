package duckdb

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/lakewarden/lakewarden/engine"
)

var _ engine.Session = (*session)(nil)

// session is up to two locked-down instances, each opened by the first
// statement that needs it: a bare one, and one with the extensions for
// statements that read a table's log through them.
type session struct {
	owner   *Engine
	roots   []string
	closing chan struct{}
	closed1 sync.Once
	broken  atomic.Bool

	// mu guards everything below and every native call on the instances.
	mu       sync.Mutex
	closed   bool
	bare     *cell
	extended *cell
	active   *result
}

func (s *session) Broken() bool { return s.broken.Load() }

func (s *session) Warm(ctx context.Context) error {
	if ctx.Err() != nil {
		return interrupted(causeContext)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.ready(); err != nil {
		return err
	}
	if s.extended != nil {
		return nil
	}
	_, err := s.open(&s.bare, nil)
	return err
}

func (s *session) Query(ctx context.Context, st engine.Statement) (engine.Result, error) {
	if ctx.Err() != nil {
		return nil, interrupted(causeContext)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.ready(); err != nil {
		return nil, err
	}
	c, err := s.cell(st)
	if err != nil {
		return nil, s.note(err)
	}
	g := newGuard(ctx, s.closing, st.Lease.Timeout, c.inst.conn)
	cur, err := c.start(st, g)
	if err != nil {
		g.end()
		return nil, s.note(g.judge(err))
	}
	s.active = &result{session: s, guard: g, cursor: cur, schema: cur.schema, columns: cur.columns}
	return s.active, nil
}

// ready reports why the session cannot take a statement.
func (s *session) ready() error {
	switch {
	case s.closed:
		return interrupted(causeClosed)
	case s.broken.Load():
		return &engine.Error{Kind: engine.KindFatal, Class: "session_broken", Position: -1}
	case s.active != nil:
		return internalError("session_busy", "a result of this session is still open")
	}
	return nil
}

// cell returns the instance for st, and lets the other one rest: a lease is for
// one of them.
func (s *session) cell(st engine.Statement) (*cell, error) {
	want, other, extensions := &s.bare, s.extended, []extension(nil)
	if readsLog(st) {
		want, other, extensions = &s.extended, s.bare, s.owner.extensions
	}
	if other != nil {
		if err := other.rest(other.copies.bytes()); err != nil {
			return nil, err
		}
	}
	return s.open(want, extensions)
}

// readsLog reports whether a source of st comes without its list of files.
func readsLog(st engine.Statement) bool {
	for _, src := range st.Sources {
		if src.Files == nil {
			return true
		}
	}
	for _, b := range st.Barriers {
		if b.Source.Files == nil && !b.Source.IsZero() {
			return true
		}
	}
	return false
}

func (s *session) open(at **cell, extensions []extension) (*cell, error) {
	if *at != nil {
		return *at, nil
	}
	c, err := openCell(s.owner, s.roots, extensions)
	if err != nil {
		return nil, err
	}
	*at = c
	return c, nil
}

// cells are those that are open.
func (s *session) cells() []*cell {
	var out []*cell
	for _, c := range []*cell{s.bare, s.extended} {
		if c != nil {
			out = append(out, c)
		}
	}
	return out
}

func (s *session) Idle(ctx context.Context, keepBytes int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.broken.Load() {
		return nil
	}
	if s.active != nil {
		return internalError("session_busy", "a result of this session is still open")
	}
	for _, c := range s.cells() {
		g := newGuard(ctx, s.closing, 0, c.inst.conn)
		err := g.judge(c.rest(keepBytes))
		g.end()
		if err != nil {
			return s.note(err)
		}
		keepBytes -= c.copies.bytes()
	}
	return nil
}

func (s *session) Close() error {
	s.closed1.Do(func() { close(s.closing) })
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	if s.active != nil {
		s.active.release()
	}
	var errs []error
	for _, c := range s.cells() {
		errs = append(errs, c.close())
	}
	s.bare, s.extended = nil, nil
	s.owner.remove(s)
	return errors.Join(errs...)
}

// note marks the session when err says that its instance is lost, or that it
// read a damaged data file: the instance caches files as if they never
// changed, so it would go on seeing the damage after a repair.
func (s *session) note(err error) error {
	if e := engineError(err); e != nil && (e.Kind == engine.KindFatal || e.Class == classDataFile) {
		s.broken.Store(true)
	}
	return err
}
