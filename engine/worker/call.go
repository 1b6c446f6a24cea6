package worker

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/lakewarden/lakewarden/engine"
)

// call is one request from its sending to the end of its answer. Only stop may
// be called beside the goroutine that reads the answer.
type call struct {
	link *link
	seq  uint32
	ctx  context.Context

	// told is closed when the request is told to stop.
	told chan struct{}

	mu      sync.Mutex
	cause   engine.Cause
	over    bool
	reading bool
	// abandoned reports that the child did not answer in time and that nobody waits
	// for it any more.
	abandoned bool
	unwatch   func() bool
	timeout   *time.Timer
	grace     *time.Timer
}

// newCall makes the next request of the link. It may be stopped before it starts.
func (l *link) newCall(ctx context.Context) *call {
	l.seq++
	return &call{link: l, seq: l.seq, ctx: ctx, told: make(chan struct{})}
}

// start sends the request and watches over it, the sending included: it is told
// to stop when its context ends or timeout, if there is one, has passed.
func (c *call) start(k kind, head []byte, timeout time.Duration) error {
	c.watch(timeout)
	if err := c.link.wire.send(k, c.seq, head); err != nil {
		return c.lose(err)
	}
	c.mu.Lock()
	overtaken := c.cause != engine.CauseNone
	c.mu.Unlock()
	if overtaken { // the child may have heard of the end before the beginning
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

// stop asks the child to cancel the request. If the child does not answer within the
// grace period, the request is abandoned. The first cause counts.
func (c *call) stop(why engine.Cause) {
	c.mu.Lock()
	if c.over || c.cause != engine.CauseNone {
		c.mu.Unlock()
		return
	}
	c.cause = why
	close(c.told)
	c.grace = time.AfterFunc(c.link.proc.opts.Grace, c.overdue)
	c.mu.Unlock()
	// Not under the lock: a child that takes nothing holds this up until it is
	// killed. A lost process is noticed by who reads.
	_ = c.link.wire.send(kindCancel, c.seq, nil)
}

// overdue abandons a request that was not answered. A child that is blocked on sending
// rows cannot answer, so it gets another grace period. Waiting callers are released at
// once: the child may still run other statements, and killing it takes up to a second
// because its memory has to be freed.
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

// stopped returns the error of a request that was told to stop, or nil.
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

// receive returns the next frame that is not the last one. After the last one,
// and after a failure, the call is over; done tells an answer's good end. The
// caller attends to the call.
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
		if err := decode(f.head, &failure); err != nil {
			return f, false, c.lose(err)
		}
		if failure.Broken {
			c.link.broken = true
		}
		return f, false, c.judge(failure.err())
	}
	return f, false, nil
}

// attend says that somebody reads until the function returned is called: no
// answer is the child's fault now, and the grace begins.
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

// finish ends the watch. It is idempotent.
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

// lose ends a call whose process cannot be talked to any more. The end of the
// process tells why, and is waited for until the call is told to stop.
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
	case <-c.told:
	}
	c.finish()
	if why := c.stopped(); why != nil {
		return why // whoever stopped it does not care how, nor waits for it
	}
	return c.link.proc.lost(err, c.link.account.running)
}

func (c *call) wasAbandoned() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.abandoned
}

// judge replaces the child's word for an interrupt by the reason for it.
func (c *call) judge(err error) error {
	var e *engine.Error
	if errors.As(err, &e) && e.Kind == engine.KindInterrupted {
		if why := c.stopped(); why != nil {
			return why
		}
	}
	return err
}

// wait reads the answer to a request that has no rows.
func (c *call) wait() (frame, error) {
	defer c.attend()()
	f, done, err := c.receive()
	if err == nil && !done {
		err = c.lose(errWire)
	}
	return f, err
}

// drain reads to the end of the answer.
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

// ended reports that the answer was read to its end, or lost.
func (c *call) ended() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.over
}
