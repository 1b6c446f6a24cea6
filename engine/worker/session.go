package worker

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lakewarden/lakewarden/engine"
)

var _ engine.Session = (*session)(nil)

// session is the parent's side of a session. It outlives its process: its state in the child
// consists of caches only, so if the process ended between two statements, the next statement opens
// the session again in a new process.
type session struct {
	owner   *Engine
	opts    engine.SessionOptions
	slot    *slot
	closing atomic.Bool
	broken  atomic.Bool
	// current is the running request, for Close.
	current atomic.Pointer[call]

	// mu guards everything below.
	mu     sync.Mutex
	closed bool
	link   *link
	active *result
}

func (s *session) Broken() bool { return s.broken.Load() }

// open connects for the first time.
func (s *session) open(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.connect(ctx)
}

// ready connects, if necessary, before a request.
func (s *session) ready(ctx context.Context) error {
	switch {
	case s.closed || s.closing.Load():
		return engine.Interrupted(engine.CauseClosed)
	case ctx.Err() != nil:
		return engine.Interrupted(engine.CauseContext)
	case s.broken.Load():
		return fatal("session_broken", "")
	case s.active != nil:
		return internalError("session_busy", "a result of this session is still open")
	}
	return s.connect(ctx)
}

// connect links the session to a live process if it has none. Sometimes only the failure of
// the first message shows that a process has ended; connect then tries once more.
func (s *session) connect(ctx context.Context) error {
	if s.link != nil && !s.link.lost && s.link.proc.usable() {
		return nil
	}
	lost, err := s.reconnect(ctx)
	if lost {
		_, err = s.reconnect(ctx)
	}
	return err
}

// reconnect opens the session over a new link.
func (s *session) reconnect(ctx context.Context) (lost bool, err error) {
	s.disconnect()
	l, err := s.owner.dial(ctx, s.slot)
	if err != nil {
		return isLost(err), err
	}
	s.link = l
	if _, err = s.do(ctx, kindOpen, encode(s.opts)); err != nil {
		lost = l.lost && ctx.Err() == nil
		s.disconnect()
		return lost, err
	}
	l.proc.opened()
	return false, nil
}

func (s *session) disconnect() {
	if s.link == nil {
		return
	}
	defer func() { s.link = nil }()
	if l := s.link; s.opts.Scratch == "" && l.proc.drains() {
		go l.close() // without waiting until the child has freed the session
		return
	}
	s.link.close()
	s.clearScratch()
}

// begin sends a request. Close can stop it from its first byte on.
func (s *session) begin(ctx context.Context, k kind, head []byte, timeout time.Duration) (*call, error) {
	c := s.link.newCall(ctx)
	s.current.Store(c)
	if s.closing.Load() {
		c.stop(engine.CauseClosed)
	}
	if err := c.start(k, head, timeout); err != nil {
		s.current.Store(nil)
		return nil, err
	}
	return c, nil
}

// do sends a request without rows and waits for its reply.
func (s *session) do(ctx context.Context, k kind, head []byte) (frame, error) {
	c, err := s.begin(ctx, k, head, 0)
	if err != nil {
		return frame{}, err
	}
	defer s.current.Store(nil)
	return c.wait()
}

func (s *session) Warm(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.active != nil {
		return nil // it is open already
	}
	if err := s.ready(ctx); err != nil {
		return err
	}
	if _, err := s.do(ctx, kindWarm, nil); err != nil {
		return s.note(err)
	}
	s.link.proc.warmed(&s.link.account)
	return nil
}

func (s *session) Query(ctx context.Context, st engine.Statement) (engine.Result, error) {
	if ctx.Err() != nil {
		return nil, engine.Interrupted(engine.CauseContext)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	// The parent enforces the timeout, so the child does not need to.
	timeout := st.Lease.Timeout
	st.Lease.Timeout = 0
	lease := leased(st.Lease)
	st.Lease.Memory = engineLimit(lease)
	if s.link.proc.crowded(&s.link.account) {
		if err := s.idle(ctx, st.Lease.Memory); err != nil {
			return nil, err
		}
	}
	message := s.link.sources.statement(engine.WriteStatement{Statement: st})
	if err := s.admit(message, lease); err != nil {
		return nil, err
	}
	r, err := s.query(ctx, message, timeout)
	if err != nil {
		s.current.Store(nil)
		s.link.proc.finish(&s.link.account)
		return nil, s.note(err)
	}
	s.active = r
	return r, nil
}

// admit registers a statement with its lease in bytes.
func (s *session) admit(message []byte, lease int64) error {
	if len(message) > maxHead {
		s.link.sources.forget() // it is not sent, so the child caches none of its sources
		return internalError("statement_size", "the statement is too large for a message")
	}
	if !s.link.proc.begin(&s.link.account, lease) {
		return fatal(engine.ClassLost, "the process is ending")
	}
	return nil
}

// query sends a statement and waits for the columns of its result.
func (s *session) query(ctx context.Context, head []byte, timeout time.Duration) (*result, error) {
	c, err := s.begin(ctx, kindQuery, head, timeout)
	if err != nil {
		return nil, err
	}
	leave := c.attend()
	f, done, err := c.receive()
	leave()
	if err != nil {
		return nil, err
	}
	if done || f.kind != kindColumns {
		return nil, c.lose(errWire)
	}
	return newResult(s, c, f)
}

// idleFloor is how much a session may hold in addition to its copies between statements.
const idleFloor = 16 * mib

func (s *session) Idle(ctx context.Context, keepBytes int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed || s.closing.Load() || s.broken.Load():
		return nil
	case s.active != nil:
		return internalError("session_busy", "a result of this session is still open")
	case s.link == nil || s.link.lost || !s.link.proc.usable():
		return nil // the child holds nothing for this session
	}
	return s.idle(ctx, keepBytes)
}

// idle lets the child free what the session caches, except copies of keepBytes, and ends the
// session's lease.
func (s *session) idle(ctx context.Context, keepBytes int64) error {
	s.link.sources.forget() // the child forgets them too
	f, err := s.do(ctx, kindIdle, encode(keepBytes))
	if err != nil {
		return s.note(err)
	}
	// The number reported by the child counts only up to the allowed limit.
	var kept int64
	if decodeReply(f.head, &kept) != nil || kept < 0 || kept > keepBytes {
		kept = keepBytes
	}
	s.link.proc.settle(&s.link.account, kept+idleFloor)
	return nil
}

func (s *session) Close() error {
	s.closing.Store(true)
	if c := s.current.Load(); c != nil {
		c.stop(engine.CauseClosed)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	if s.active != nil {
		s.active.release()
	}
	s.disconnect()
	if p := s.slot.current(); s.opts.Apart && p != nil {
		p.retire(reasonIdle)
	}
	s.owner.remove(s)
	return nil
}

// note records that the session has become unusable.
func (s *session) note(err error) error {
	if err != nil && (s.link.lost || s.link.broken || errors.Is(err, engine.ErrFatal)) {
		s.broken.Store(true)
	}
	return err
}
