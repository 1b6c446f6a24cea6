package native

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	duck "github.com/duckdb/duckdb-go-bindings"

	"github.com/lakewarden/lakewarden/engine"
)

// Guard watches one statement and interrupts it when its context ends, its timeout passes or its
// session closes. DuckDB drops an interrupt when it moves from one phase to the next, so a guard
// that has tripped repeats it until End is called.
type Guard struct {
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

// NewGuard starts watching a statement of in; zero is no timeout. The caller calls End once it no
// longer uses the connection for the statement. The first call of End calls ended, unless it is
// nil.
func NewGuard(ctx context.Context, closing <-chan struct{}, timeout time.Duration, in *Instance, ended func()) *Guard {
	g := &Guard{
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

func (g *Guard) run(closing <-chan struct{}, timeout time.Duration) {
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
		g.Trip(engine.CauseContext)
	case <-expired:
		g.Trip(engine.CauseTimeout)
	case <-closing:
		g.Trip(engine.CauseClosed)
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

// Trip stops the statement for c. Only the first cause is recorded.
func (g *Guard) Trip(c engine.Cause) {
	g.trip1.Do(func() {
		g.cause.Store(int32(c))
		close(g.tripped)
	})
}

// End stops watching and returns when no interrupt can follow. It is idempotent.
func (g *Guard) End() {
	g.stop1.Do(func() {
		close(g.stop)
		if g.ended != nil {
			g.ended()
		}
	})
	<-g.done
}

// Also makes the end of ctx stop the statement too, until stop is called.
func (g *Guard) Also(ctx context.Context) (stop func()) {
	if ctx.Done() == g.ctx.Done() {
		return func() {}
	}
	release := context.AfterFunc(ctx, func() { g.Trip(engine.CauseContext) })
	return func() { release() }
}

// Err returns the error of a stopped statement, or nil if it was not stopped.
func (g *Guard) Err() error {
	c := engine.Cause(g.cause.Load())
	if c == engine.CauseNone && g.ctx.Err() != nil {
		c = engine.CauseContext
	}
	if c == engine.CauseNone {
		return nil
	}
	return engine.Interrupted(c)
}

// InterruptCause replaces DuckDB's error for an interrupt with the reason for it, also for a
// read of a remote store that failed because its statement was stopped. It returns other
// errors, which came first, unchanged.
//
// When one thread of a statement fails, DuckDB interrupts the others, and sometimes reports one of
// these interrupts. If no interrupt was requested, the cause is a value that the error does not
// name.
func (g *Guard) InterruptCause(err error) error {
	e := AsError(err)
	if e == nil || e.Kind != engine.KindInterrupted && e.Kind != engine.KindIO {
		return err
	}
	if why := g.Err(); why != nil {
		return why
	}
	if e.Kind == engine.KindInterrupted {
		return &engine.Error{Kind: engine.KindRuntime, Class: ClassUnnamed, Position: -1, Text: e.Text}
	}
	return err
}

// ClassUnnamed is the class of a failure whose cause DuckDB does not report.
const ClassUnnamed = "unnamed"
