package duckdb

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	duck "github.com/duckdb/duckdb-go-bindings"

	"github.com/lakewarden/lakewarden/engine"
)

// guard watches one statement and interrupts it when its context ends, its
// timeout passes or its session closes. DuckDB forgets an interrupt when it
// moves from one phase to the next, so a guard that has tripped repeats it until
// it is ended.
type guard struct {
	ctx     context.Context
	conn    duck.Connection
	cause   atomic.Int32
	tripped chan struct{}
	trip1   sync.Once
	stop    chan struct{}
	stop1   sync.Once
	done    chan struct{}
	ended   func()
}

const (
	interruptFirst = time.Millisecond
	interruptMost  = 20 * time.Millisecond
)

// newGuard starts watching a statement of in; zero is no timeout. The caller calls end
// exactly when it no longer touches the connection on behalf of the statement. The first
// end calls ended, unless it is nil.
func newGuard(ctx context.Context, closing <-chan struct{}, timeout time.Duration, in *instance, ended func()) *guard {
	g := &guard{
		ctx:     ctx,
		conn:    in.conn,
		ended:   ended,
		tripped: make(chan struct{}),
		stop:    make(chan struct{}),
		done:    make(chan struct{}),
	}
	go g.run(closing, timeout)
	return g
}

func (g *guard) run(closing <-chan struct{}, timeout time.Duration) {
	defer close(g.done)
	var expired <-chan time.Time
	if timeout > 0 {
		timer := time.NewTimer(timeout)
		defer timer.Stop()
		expired = timer.C
	}
	select {
	case <-g.stop:
		return
	case <-g.tripped:
	case <-g.ctx.Done():
		g.trip(engine.CauseContext)
	case <-expired:
		g.trip(engine.CauseTimeout)
	case <-closing:
		g.trip(engine.CauseClosed)
	}
	for wait := interruptFirst; ; wait = min(2*wait, interruptMost) {
		duck.Interrupt(g.conn)
		pause := time.NewTimer(wait)
		select {
		case <-g.stop:
			pause.Stop()
			return
		case <-pause.C:
		}
	}
}

// trip stops the statement for c; the first cause stays.
func (g *guard) trip(c engine.Cause) {
	g.trip1.Do(func() {
		g.cause.Store(int32(c))
		close(g.tripped)
	})
}

// end stops watching and returns when no interrupt can follow. It is idempotent.
func (g *guard) end() {
	g.stop1.Do(func() {
		close(g.stop)
		if g.ended != nil {
			g.ended()
		}
	})
	<-g.done
}

// also stops the statement when ctx ends, too, until the function returned is called.
func (g *guard) also(ctx context.Context) (stop func()) {
	if ctx.Done() == g.ctx.Done() {
		return func() {}
	}
	release := context.AfterFunc(ctx, func() { g.trip(engine.CauseContext) })
	return func() { release() }
}

// err is the error of a stopped statement, or nil while it may go on.
func (g *guard) err() error {
	c := engine.Cause(g.cause.Load())
	if c == engine.CauseNone && g.ctx.Err() != nil {
		c = engine.CauseContext
	}
	if c == engine.CauseNone {
		return nil
	}
	return engine.Interrupted(c)
}

// judge replaces the engine's word for an interrupt by the reason for it. A read
// of a remote store fails where its statement is stopped. Other errors, which
// came first, stay.
//
// When one thread of a statement fails, the engine stops the others, and now and
// then reports one of those instead. Nobody asked for that interrupt: what went
// wrong is a value that it does not name.
func (g *guard) judge(err error) error {
	e := engineError(err)
	if e == nil || e.Kind != engine.KindInterrupted && e.Kind != engine.KindIO {
		return err
	}
	if why := g.err(); why != nil {
		return why
	}
	if e.Kind == engine.KindInterrupted {
		return &engine.Error{Kind: engine.KindRuntime, Class: classUnnamed, Position: -1, Text: e.Text}
	}
	return err
}

// classUnnamed is the class of a failure that the engine did not name.
const classUnnamed = "unnamed"
