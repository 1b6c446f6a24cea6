package lifecycle

import (
	"context"
	"errors"
	"time"
)

// Group holds the parts of a server that are to be closed. The zero value is empty. It is not
// safe for concurrent use.
type Group struct {
	closers []func(context.Context) error
}

// OnClose adds a part, which f closes.
func (g *Group) OnClose(f func(context.Context) error) { g.closers = append(g.closers, f) }

// Background runs f until its context ends, at the latest when the group is closed.
func (g *Group) Background(ctx context.Context, f func(context.Context)) {
	ctx, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(ctx)
	}()
	g.OnClose(func(context.Context) error {
		stop()
		<-done
		return nil
	})
}

// Every runs f in intervals, first after one interval, until ctx ends or the group is closed. Its
// runs do not overlap.
func (g *Group) Every(ctx context.Context, interval time.Duration, f func(context.Context)) {
	g.Background(ctx, func(ctx context.Context) { runEvery(ctx, interval, f) })
}

// Repeat is Every with a first run at once.
func (g *Group) Repeat(ctx context.Context, interval time.Duration, f func(context.Context)) {
	g.Background(ctx, func(ctx context.Context) {
		f(ctx)
		runEvery(ctx, interval, f)
	})
}

// runEvery runs f in intervals until ctx ends. Runs do not overlap.
func runEvery(ctx context.Context, interval time.Duration, f func(context.Context)) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for ctx.Err() == nil { // select takes either of two that are ready
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			f(ctx)
		}
	}
}

// Close closes all parts, whatever the errors of others, and waits for the background work. Parts
// other than background work get limit for it.
func (g *Group) Close(limit time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	var errs []error
	for i := len(g.closers) - 1; i >= 0; i-- {
		errs = append(errs, g.closers[i](ctx))
	}
	return errors.Join(errs...)
}
