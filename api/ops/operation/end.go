package operation

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/revocation"
	"github.com/lakewarden/lakewarden/catalog"
)

// end records how a task ended and removes the task.
func (r *Runner) end(t *Task, done Done, err error) {
	defer r.work.Done()
	outcome := r.outcome(t, done, err)
	if invalid := outcome.Validate(); invalid != nil {
		// For example, a result too large for a record. The caller is not at fault, so the
		// error is not wrapped.
		outcome = r.outcome(t, Done{}, errors.New("outcome of an operation: "+invalid.Error()))
	}
	if recordErr := r.record(t, outcome); recordErr != nil {
		r.opts.Logger.Warn("operation not recorded", "operation", t.Operation.ID, "error", recordErr)
		if err == nil { // no record refers to the result
			r.discard(r.system, t.Operation)
		}
	}
	t.running.Done()
	t.cancel(nil)
	r.mu.Lock()
	delete(r.tasks, t.Operation.ID)
	r.mu.Unlock()
	r.audit(t, outcome)
	if t.after == nil {
		return
	}
	if outcome.State == catalog.OperationCancelled && !errors.Is(err, revocation.ErrQueryCancelled) {
		err = ErrFailed
	}
	t.after(err)
}

func (r *Runner) outcome(t *Task, done Done, err error) catalog.OperationOutcome {
	t.mu.Lock()
	defer t.mu.Unlock()
	o := catalog.OperationOutcome{State: catalog.OperationSucceeded, Progress: t.progress, ExpiresAt: time.Now().Add(r.opts.Keep)}
	switch cause := context.Cause(t.ctx); {
	case err == nil:
		o.Result, o.Private, o.StoredBytes = done.Result, done.Private, done.StoredBytes
		return o
	case errors.Is(cause, errOperationCancelled) && !t.final:
		o.State = catalog.OperationCancelled
		return o
	case errors.Is(cause, ErrLost):
		err = cause
	default:
		err = revocation.EndedBy(t.ctx, err)
	}
	problem := r.opts.Describe(err)
	o.State, o.Problem = catalog.OperationFailed, &problem
	if errors.Is(err, revocation.ErrQueryCancelled) {
		o.State = catalog.OperationCancelled
	}
	r.opts.Logger.Info("operation failed", "operation", t.Operation.ID, "kind", t.Operation.Kind, "code", problem.Code)
	r.opts.Logger.Debug("operation failed", "operation", t.Operation.ID, "error", err)
	return o
}

// record stores the outcome, and retries while the operation can still belong to this
// replica.
func (r *Runner) record(t *Task, outcome catalog.OperationOutcome) error {
	ctx, cancel := context.WithTimeout(r.system, r.opts.Lost)
	defer cancel()
	for again := false; ; again = true {
		err := r.store.FinishOperation(ctx, r.opts.Name, t.Operation.ID, outcome)
		if again && errors.Is(err, catalog.ErrNotFound) {
			// An earlier attempt may have been stored although its reply was lost.
			stored, readErr := r.store.Operation(ctx, t.Operation.Org, t.Operation.ID)
			switch {
			case readErr == nil && stored.State == outcome.State:
				return nil
			case readErr != nil && !errors.Is(readErr, catalog.ErrNotFound):
				err = readErr
			}
		}
		if err == nil || errors.Is(err, catalog.ErrNotFound) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(r.opts.Poll):
		}
	}
}

func (r *Runner) discard(ctx context.Context, operation catalog.Operation) {
	if err := r.opts.Discard(ctx, operation); err != nil {
		r.opts.Logger.Warn("operation's result not removed", "operation", operation.ID, "error", err)
	}
}

func (r *Runner) audit(t *Task, outcome catalog.OperationOutcome) {
	how := catalog.OutcomeAllow
	if outcome.State == catalog.OperationFailed {
		how = catalog.OutcomeError
	}
	entry := caller.NewEntry(t.actor, "operation.end", "operation/"+string(t.Operation.ID), how)
	// Marshalling strings cannot fail.
	entry.Details, _ = json.Marshal(map[string]string{"kind": string(t.Operation.Kind), "state": string(outcome.State)})
	r.opts.Audit.Record(entry)
}
