package duckdb

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/lakewarden/lakewarden/engine"
)

var _ engine.Session = (*session)(nil)

// session is one locked-down instance, opened by its first statement.
type session struct {
	owner   *Engine
	roots   []string
	closing chan struct{}
	closed1 sync.Once
	broken  atomic.Bool

	// mu guards everything below and every native call on the instance.
	mu       sync.Mutex
	closed   bool
	inst     *instance
	dir      string
	applied  engine.Lease
	attached *attachments
	copies   *barriers
	active   *result
}

func (s *session) Broken() bool { return s.broken.Load() }

func (s *session) Warm(ctx context.Context) error {
	if ctx.Err() != nil {
		return interrupted(causeContext)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ready()
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
	g := newGuard(ctx, s.closing, st.Lease.Timeout, s.inst.conn)
	c, err := s.start(st, g)
	if err != nil {
		g.end()
		return nil, s.note(g.judge(err))
	}
	s.active = &result{session: s, guard: g, cursor: c, schema: c.schema, columns: c.columns}
	return s.active, nil
}

// ready opens the instance if there is none yet.
func (s *session) ready() error {
	switch {
	case s.closed:
		return interrupted(causeClosed)
	case s.broken.Load():
		return &engine.Error{Kind: engine.KindFatal, Class: "session_broken", Position: -1}
	case s.active != nil:
		return internalError("session_busy", "a result of this session is still open")
	case s.inst != nil:
		return nil
	}
	dir, err := s.owner.sessionDir()
	if err != nil {
		return internalError("temp_dir", err.Error())
	}
	links := filepath.Join(dir, "tables")
	if err := os.Mkdir(links, 0o700); err != nil {
		return internalError("temp_dir", err.Error())
	}
	in, err := openSandbox(s.owner.extensions, s.roots, filepath.Join(dir, "spill"))
	if err != nil {
		os.RemoveAll(dir)
		return err
	}
	s.inst, s.dir = in, dir
	s.attached, s.copies = newAttachments(in, links), newBarriers(in)
	return nil
}

// start brings the session into the state that st asks for and starts its SQL.
func (s *session) start(st engine.Statement, g *guard) (*cursor, error) {
	if err := s.apply(st.Lease); err != nil {
		return nil, err
	}
	missing := s.copies.missing(st.Barriers)
	sources := st.Sources
	for _, b := range missing {
		sources = append(sources[:len(sources):len(sources)], b.Source)
	}
	if err := s.attach(sources, g); err != nil {
		return nil, err
	}
	if err := s.copies.make(st.Barriers, missing, st.Lease.Memory/2, g.err); err != nil {
		s.forget(sources, err)
		return nil, err
	}
	c, err := s.inst.open(st.SQL, st.Args, selects, g.err)
	if err != nil {
		s.forget(sources, err)
		return nil, err
	}
	return c, nil
}

func (s *session) attach(sources []engine.Source, g *guard) error {
	for _, src := range sources {
		if s.attached.has(src) {
			continue
		}
		location, err := s.owner.within(s.roots, src.Location)
		if err != nil {
			return err
		}
		if err := g.err(); err != nil {
			return err
		}
		if err := s.attached.add(src, location); err != nil {
			return err
		}
	}
	return s.attached.trim(sources)
}

// forget drops the attachments of a statement that could not read its files: an
// attachment keeps the log as it first saw it, a mended table needs a new one.
func (s *session) forget(sources []engine.Source, err error) {
	if e := engineError(err); e != nil && e.Kind == engine.KindIO {
		s.attached.drop(sources)
	}
}

// apply sets what the lease grants. Unset fields keep the engine's defaults.
func (s *session) apply(lease engine.Lease) error {
	want := s.owner.defaults(lease)
	var set []string
	if want.Memory != s.applied.Memory {
		set = append(set, "SET memory_limit='"+strconv.FormatInt(want.Memory, 10)+"B'")
	}
	if want.Threads != s.applied.Threads {
		set = append(set, "SET threads="+strconv.Itoa(want.Threads))
	}
	if want.TempBytes != s.applied.TempBytes {
		set = append(set, "SET max_temp_directory_size='"+strconv.FormatInt(want.TempBytes, 10)+"B'")
	}
	if len(set) == 0 {
		return nil
	}
	s.applied = engine.Lease{}
	if err := s.inst.exec(strings.Join(set, ";")); err != nil {
		return err
	}
	s.applied = want
	return nil
}

// idleFloor is the memory an idle instance may hold beside the kept copies.
const idleFloor = 16 << 20

func (s *session) Idle(ctx context.Context, keepBytes int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.inst == nil || s.broken.Load() {
		return nil
	}
	if s.active != nil {
		return internalError("session_busy", "a result of this session is still open")
	}
	g := newGuard(ctx, s.closing, 0, s.inst.conn)
	defer g.end()
	if err := s.copies.shrink(keepBytes, nil); err != nil {
		return s.note(g.judge(err))
	}
	lease := s.applied
	lease.Memory, lease.Threads = s.copies.bytes()+idleFloor, 1
	return s.note(g.judge(s.apply(lease)))
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
	if s.inst != nil {
		s.inst.close()
		s.inst = nil
		if err := os.RemoveAll(s.dir); err != nil {
			s.owner.remove(s)
			return internalError("temp_dir", err.Error())
		}
	}
	s.owner.remove(s)
	return nil
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
