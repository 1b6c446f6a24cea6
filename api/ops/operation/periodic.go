package operation

import (
	"context"
	"errors"
	"time"

	"github.com/lakewarden/lakewarden/catalog"
)

// sweepBatch is how many expired operations are removed at a time.
const sweepBatch = 100

// runPeriodic does the periodic work of the runner until ctx ends. Failures are logged, and
// the work is retried at its next time.
func (r *Runner) runPeriodic(ctx context.Context) {
	poll, beat, sweep := time.NewTicker(r.opts.Poll), time.NewTicker(r.opts.Beat), time.NewTicker(r.opts.Lost)
	defer poll.Stop()
	defer beat.Stop()
	defer sweep.Stop()
	// Sweep immediately: otherwise the operations of a server that restarts repeatedly
	// would count as live.
	err := r.Sweep(ctx)
	for {
		if err != nil && ctx.Err() == nil {
			r.opts.Logger.Warn("periodic work of operations failed", "error", err)
		}
		err = nil
		select {
		case <-ctx.Done():
			return
		case <-poll.C:
			err = errors.Join(r.pollCancelled(ctx), r.report(ctx))
		case <-beat.C:
			if r.busy() {
				err = r.store.BeatOperations(ctx, r.opts.Name)
			}
		case <-sweep.C:
			err = r.Sweep(ctx)
		}
	}
}

func (r *Runner) busy() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.tasks) > 0
}

// pollCancelled stops operations that were cancelled through another replica.
func (r *Runner) pollCancelled(ctx context.Context) error {
	if !r.busy() {
		return nil
	}
	ids, err := r.store.CancelledOperations(ctx, r.opts.Name)
	for _, id := range ids {
		r.Cancel(id)
	}
	return err
}

// report writes new progress to the catalog.
func (r *Runner) report(ctx context.Context) error {
	var errs []error
	for _, t := range r.all() {
		if progress, ok := t.unreported(); ok {
			err := r.store.ReportOperation(ctx, r.opts.Name, t.Operation.ID, progress)
			if err != nil && !errors.Is(err, catalog.ErrNotFound) { // not found: it has just ended
				t.setUnreported()
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

// unreported returns the progress, marks it as reported, and reports whether it was not yet.
func (t *Task) unreported() (catalog.Progress, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	unreported := !t.reported && t.progress != catalog.Progress{}
	t.reported = true
	return t.progress, unreported
}

// setUnreported makes the next report write the progress again.
func (t *Task) setUnreported() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.reported = false
}

// Sweep ends the operations of silent replicas, and removes expired operations with their
// results.
func (r *Runner) Sweep(ctx context.Context) error {
	lost := r.opts.Describe(ErrLost)
	_, err := r.store.LoseOperations(ctx, time.Now().Add(-r.opts.Lost), catalog.OperationOutcome{
		State: catalog.OperationFailed, Problem: &lost, ExpiresAt: time.Now().Add(r.opts.Keep),
	})
	if err != nil {
		return err
	}
	expired, err := r.store.ExpiredOperations(ctx, sweepBatch)
	if err != nil {
		return err
	}
	var errs []error
	for _, o := range expired {
		if err := r.opts.Discard(ctx, o); err != nil {
			errs = append(errs, err)
			continue // only the record refers to the result
		}
		errs = append(errs, r.store.DeleteOperation(ctx, o.Org, o.ID))
	}
	return errors.Join(errs...)
}
