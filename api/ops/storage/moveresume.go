package storage

import (
	"context"
	"errors"
	"time"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
)

// movesKept is how long ended moves are stored, for repeated requests.
const movesKept = 7 * 24 * time.Hour

// Run continues the moves of replicas that have ended, until ctx ends.
func (o *Moves) Run(ctx context.Context) {
	defer o.work.Wait()
	tick, sweep := time.NewTicker(moveBeat), time.NewTicker(time.Hour)
	defer tick.Stop()
	defer sweep.Stop()
	err := o.Resume(ctx)
	for {
		if err != nil && ctx.Err() == nil {
			o.Logger.Warn("moves not resumed", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			err = o.Resume(ctx)
		case <-sweep.C:
			err = o.sweep(ctx)
		}
	}
}

// sweep removes the records of old moves, and the reports of replicas that have ended.
func (o *Moves) sweep(ctx context.Context) error {
	system, now := authz.System(ctx, "old moves"), time.Now()
	_, err := o.Store.ForgetMoves(system, now.Add(-movesKept))
	return errors.Join(err, o.Store.ForgetReads(system, "", now.Add(-time.Hour)))
}

// Resume takes over the moves whose replicas have ended, and continues them in the background.
func (o *Moves) Resume(ctx context.Context) error {
	system := authz.System(ctx, "moves of other replicas")
	taken, err := o.Store.TakeMoves(system, o.Holder, time.Now().Add(-moveLost))
	if err := errors.Join(err, o.ReportReads(ctx)); err != nil {
		return err
	}
	for _, m := range taken {
		if !o.claim(m.ID) {
			continue
		}
		o.work.Go(func() {
			defer o.release(m.ID)
			o.Logger.Info("move resumed", "move", m.ID, "state", m.State)
			permit := func(ctx context.Context) error { return o.authorPermitted(ctx, m) }
			if _, err := o.run(ctx, m, moveRun{permit: permit}); err != nil && ctx.Err() == nil {
				o.Logger.Warn("resumed move", "move", m.ID, "error", err)
			}
		})
	}
	return nil
}

// authorPermitted judges the member who began a move: see [caller.Author].
func (o *Moves) authorPermitted(ctx context.Context, m catalog.Move) error {
	a, err := caller.Author(ctx, o.Store, m.Org, m.User)
	if err != nil {
		return err
	}
	n := catalog.NewMove{Org: m.Org, User: m.User, Source: m.Source, Target: m.Target}
	ctx = auth.WithPrincipal(ctx, a.Principal)
	ends, err := o.permitted(ctx, a, n)
	if err == nil {
		_, err = o.wholeTables(ctx, a, n, ends, access.Changing)
	}
	return err
}
