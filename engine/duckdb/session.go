package duckdb

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/duckdb/heap"
	"github.com/lakewarden/lakewarden/engine/duckdb/native"
)

var _ engine.Session = (*session)(nil)

// session is up to four locked-down instances, one for each kind of statement, each opened
// when first needed. An instance without extensions runs statements over lists of local files;
// the others load the extensions that their kind requires.
type session struct {
	owner   *Engine
	roots   []string
	remote  *engine.Remote
	scratch string // a real directory, or ""
	closing chan struct{}
	closed1 sync.Once
	broken  atomic.Bool

	// mu guards the fields below and every native call on the instances.
	mu        sync.Mutex
	closed    bool
	instances []*instance
	active    *result
	// last are the sources of the current or previous statement.
	last []engine.Source
}

func (s *session) Broken() bool { return s.broken.Load() }

func (s *session) Warm(ctx context.Context) error {
	if ctx.Err() != nil {
		return engine.Interrupted(engine.CauseContext)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.ready(); err != nil {
		return err
	}
	if len(s.instances) > 0 {
		return nil
	}
	_, err := s.open(kind{remote: s.remote != nil && len(s.roots) == 0})
	return err
}

func (s *session) Query(ctx context.Context, st engine.Statement) (engine.Result, error) {
	if ctx.Err() != nil {
		return nil, engine.Interrupted(engine.CauseContext)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.ready(); err != nil {
		return nil, err
	}
	s.last = st.Sources
	c, err := s.instance(st)
	if err != nil {
		return nil, s.note(err)
	}
	g := s.guard(ctx, st, c)
	cur, err := c.start(st, g)
	if err != nil {
		err = c.diagnose(st, g, g.InterruptCause(err))
		g.End()
		return nil, s.note(err)
	}
	s.active = &result{session: s, instance: c, statement: st, guard: g, cursor: cur, schema: cur.Schema, columns: cur.Columns}
	return s.active, nil
}

// guard watches a statement that runs on c.
func (s *session) guard(ctx context.Context, st engine.Statement, c *instance) *native.Guard {
	ended := heap.Lend(s.owner.defaults(st.Lease).Memory)
	return native.NewGuard(ctx, s.closing, st.Lease.Timeout, c.inst, ended)
}

// ready returns the reason why the session cannot take a statement, if any.
func (s *session) ready() error {
	switch {
	case s.closed:
		return engine.Interrupted(engine.CauseClosed)
	case s.broken.Load():
		return &engine.Error{Kind: engine.KindFatal, Class: "session_broken", Position: -1}
	case s.active != nil:
		return native.InternalError("session_busy", "a result of this session is still open")
	}
	return nil
}

// instance returns the instance for st, and idles the others: a lease is for one of them.
func (s *session) instance(st engine.Statement) (*instance, error) {
	k := kindOf(st)
	if k.remote && s.remote == nil {
		return nil, native.InternalError("location", "the session reads no remote store")
	}
	for _, c := range s.instances {
		if c.kind == k {
			continue
		}
		if err := c.rest(c.copies.bytes()); err != nil {
			return nil, err
		}
	}
	return s.open(k)
}

func (s *session) open(k kind) (*instance, error) {
	for _, c := range s.instances {
		if c.kind == k {
			return c, nil
		}
	}
	c, err := openInstance(s, k)
	if err != nil {
		return nil, err
	}
	s.instances = append(s.instances, c)
	return c, nil
}

func (s *session) Idle(ctx context.Context, keepBytes int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.broken.Load() {
		return nil
	}
	if s.active != nil {
		return native.InternalError("session_busy", "a result of this session is still open")
	}
	for _, c := range s.instances {
		g := native.NewGuard(ctx, s.closing, 0, c.inst, nil)
		err := g.InterruptCause(c.rest(keepBytes))
		g.End()
		if err != nil {
			return s.note(err)
		}
		keepBytes -= c.copies.bytes()
	}
	return nil
}

// Kept returns the bytes of the session's copies.
func (s *session) Kept() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	var sum int64
	for _, c := range s.instances {
		sum += c.copies.bytes()
	}
	return sum
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
	for _, c := range s.instances {
		errs = append(errs, c.close())
	}
	s.instances = nil
	s.owner.remove(s)
	return errors.Join(errs...)
}

// note marks the session as broken if err says that its instance is lost, or that it read a
// damaged data file: the instance caches files as unchanging, so it would still see the damage
// after a repair. Files in the scratch directory are never repaired.
func (s *session) note(err error) error {
	if e := native.AsError(err); e != nil && (e.Kind == engine.KindFatal || damaged(e) && !s.readsOwn()) {
		s.broken.Store(true)
	}
	return err
}

// damaged reports whether the error is about the bytes of a file.
func damaged(e *engine.Error) bool {
	return e.Class == engine.ClassDataFile || e.Class == engine.ClassFileText
}

// readsOwn reports whether the last statement reads files of the scratch directory only. The
// caller holds mu.
func (s *session) readsOwn() bool {
	for _, src := range s.last {
		if real, err := filepath.EvalSymlinks(src.Location); err != nil || real != s.scratch {
			return false
		}
	}
	return len(s.last) > 0
}
