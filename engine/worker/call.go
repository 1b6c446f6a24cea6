package worker

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/lakewarden/lakewarden/engine"
)

// call is one request, from its sending to the end of its reply. Only stop may be called
// concurrently with the goroutine that reads the reply.
type call struct {
	link *link
	seq  uint32
	ctx  context.Context

	// stopping is closed when the request is stopped.
	stopping chan struct{}

	mu      sync.Mutex
	cause   engine.Cause
	over    bool
	reading bool
	// abandoned reports that the child did not reply in time and that the parent does not wait for
	// it any more.
	abandoned bool
	unwatch   func() bool
	timeout   *time.Timer
	grace     *time.Timer
}

// newCall returns the next request of the link. It may be stopped before it starts.
func (l *link) newCall(ctx context.Context) *call {
	l.seq++
	return &call{link: l, seq: l.seq, ctx: ctx, stopping: make(chan struct{})}
}

// start sends the request. It also watches the request, including the sending: the request is
// stopped when its context ends or after timeout, if it is positive.
func (c *call) start(k kind, head []byte, timeout time.Duration) error {
	c.watch(timeout)
	if err := c.link.wire.send(k, c.seq, head); err != nil {
		return c.lose(err)
	}
	c.mu.Lock()
	overtaken := c.cause != engine.CauseNone
	c.mu.Unlock()
	if overtaken { // the child may have received the cancellation before the request
		_ = c.link.wire.send(kindCancel, c.seq, nil)
	}
	return nil
}

func (c *call) watch(timeout time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unwatch = context.AfterFunc(c.ctx, func() { c.stop(engine.CauseContext) })
	if timeout > 0 {
		c.timeout = time.AfterFunc(timeout, func() { c.stop(engine.CauseTimeout) })
	}
}

// stop asks the child to cancel the request. If the child does not reply within the grace period,
// the request is abandoned. Only the first cause is recorded.
func (c *call) stop(why engine.Cause) {
	c.mu.Lock()
	if c.over || c.cause != engine.CauseNone {
		c.mu.Unlock()
		return
	}
	c.cause = why
	close(c.stopping)
	c.grace = time.AfterFunc(c.link.proc.opts.Grace, c.overdue)
	c.mu.Unlock()
	// Without the lock, because a child that reads nothing blocks this until it is killed. The
	// reader of the reply notices a lost process.
	_ = c.link.wire.send(kindCancel, c.seq, nil)
}

// overdue abandons a request without a reply. A child that is blocked on sending rows cannot reply,
// so it gets another grace period. Waiting callers are released at once: the child may still run
// other statements, and killing it takes up to a second because its memory has to be freed.
func (c *call) overdue() {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.over:
	case !c.reading && c.link.wire.pending():
		c.grace.Reset(c.link.proc.opts.Grace)
	default:
		c.abandoned = true
		c.link.proc.abandon(&c.link.account)
		_ = c.link.wire.conn.SetDeadline(time.Now())
	}
}

// stopped returns the error of a request that was stopped, or nil.
func (c *call) stopped() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	why := c.cause
	if why == engine.CauseNone && c.ctx.Err() != nil {
		why = engine.CauseContext
	}
	if why == engine.CauseNone {
		return nil
	}
	return engine.Interrupted(why)
}

// receive returns the next frame before the final one. After the final one, and after a failure,
// the call is over; done reports that the reply ended without an error. The caller must have called
// attend.
func (c *call) receive() (f frame, done bool, err error) {
	f, err = c.link.wire.receive()
	switch {
	case err != nil:
		return f, false, c.lose(err)
	case f.seq != c.seq:
		return f, false, c.lose(errWire)
	case f.kind == kindDone:
		c.finish()
		return f, true, nil
	case f.kind == kindFailed:
		c.finish()
		var failure failureMessage
		if err := decodeReply(f.head, &failure); err != nil {
			return f, false, c.lose(err)
		}
		if failure.Broken {
			c.link.broken = true
		}
		return f, false, c.interruptCause(failure.err())
	}
	return f, false, nil
}

// attend reports that the reply is being read until leave is called: meanwhile a missing reply is
// the child's fault, so the grace period begins.
func (c *call) attend() (leave func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reading = true
	if c.grace != nil && !c.over {
		c.grace.Reset(c.link.proc.opts.Grace)
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.reading = false
	}
}

// finish ends the watch of the context and the timeout. It is idempotent.
func (c *call) finish() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return
	}
	c.over = true
	c.unwatch()
	for _, t := range []*time.Timer{c.timeout, c.grace} {
		if t != nil {
			t.Stop()
		}
	}
}

// lose ends a call whose process cannot be reached any more. It waits for the end of the process,
// which reveals the cause, until the call is stopped.
func (c *call) lose(err error) error {
	c.link.lost = true
	if c.wasAbandoned() {
		c.link.abandoned = true
		c.finish()
		return c.stopped()
	}
	c.link.proc.giveUp(err)
	select {
	case <-c.link.proc.gone:
	case <-c.stopping:
	}
	c.finish()
	if why := c.stopped(); why != nil {
		return why // a stopped call needs neither the cause nor the end of the process
	}
	return c.link.proc.lost(err, c.link.account.running)
}

func (c *call) wasAbandoned() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.abandoned
}

// interruptCause replaces the child's error for an interrupt with the reason for the interrupt.
func (c *call) interruptCause(err error) error {
	var e *engine.Error
	if errors.As(err, &e) && e.Kind == engine.KindInterrupted {
		if why := c.stopped(); why != nil {
			return why
		}
	}
	return err
}

// wait reads the reply to a request without rows.
func (c *call) wait() (frame, error) {
	defer c.attend()()
	f, done, err := c.receive()
	if err == nil && !done {
		err = c.lose(errWire)
	}
	return f, err
}

// drain reads to the end of the reply.
func (c *call) drain() {
	defer c.attend()()
	for {
		f, done, err := c.receive()
		if err != nil || done {
			return
		}
		if err := c.link.wire.skip(f.body); err != nil {
			_ = c.lose(err)
			return
		}
	}
}

// ended reports whether the reply was read to its end, or lost.
func (c *call) ended() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.over
}
