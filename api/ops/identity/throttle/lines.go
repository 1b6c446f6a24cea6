package throttle

import (
	"context"
	"sync"

	"github.com/lakewarden/lakewarden/api/ops/fault"
)

// errLine is returned if too many callers await the turn of one name: 503. Retry later.
var errLine = fault.New("server_busy", "too many sign-ins of one account by one client are waiting")

// lines gives turns: of the callers with one name, one at a time has the turn. It is safe for
// concurrent use.
//
// Invariant: a name has a line as long as a caller has its turn or awaits it, and at most
// most callers await it.
type lines struct {
	most int

	mu   sync.Mutex
	open map[string]*line
}

type line struct {
	// callers are the one with the turn and those that await it.
	callers int
	// turn holds a value while nobody has the turn.
	turn chan struct{}
}

func newLines(most int) *lines { return &lines{most: most, open: map[string]*line{}} }

// wait waits for the turn of a name, which the caller ends by calling end once. It returns
// [errLine] or the error of ctx.
func (l *lines) wait(ctx context.Context, name string) (end func(), err error) {
	l.mu.Lock()
	of := l.open[name]
	switch {
	case of == nil:
		of = &line{turn: make(chan struct{}, 1)}
		of.turn <- struct{}{}
		l.open[name] = of
	case of.callers > l.most:
		l.mu.Unlock()
		return nil, errLine
	}
	of.callers++
	l.mu.Unlock()
	select {
	case <-of.turn:
		return func() { of.turn <- struct{}{}; l.leave(name, of) }, nil
	case <-ctx.Done():
		l.leave(name, of)
		return nil, ctx.Err()
	}
}

func (l *lines) leave(name string, of *line) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if of.callers--; of.callers == 0 {
		delete(l.open, name)
	}
}
