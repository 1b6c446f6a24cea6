package operation

import (
	"context"
	"encoding/json"
	"time"

	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

// Service returns and cancels operations.
type Service struct {
	Store  catalog.Store
	Runner *Runner
	// Patience is how long a request waits for work that can continue as an operation.
	Patience time.Duration
}

// List lists the caller's operations, newest first; if all is set, it lists those of the
// organisation, which requires org:update.
func (o Service) List(
	ctx context.Context, all bool, filter catalog.OperationFilter, page catalog.Page,
) (catalog.List[catalog.Operation], error) {
	a, err := caller.From(ctx)
	if err != nil {
		return catalog.List[catalog.Operation]{}, err
	}
	filter.User = a.User
	if all {
		if err := a.Require(auth.ScopeOrgUpdate); err != nil {
			return catalog.List[catalog.Operation]{}, err
		}
		filter.User = ""
	}
	return o.Store.ListOperations(ctx, a.Org, filter, page)
}

// Get returns an operation of the caller or, for holders of org:update, any operation of
// the organisation. Other operations are reported as missing.
func (o Service) Get(ctx context.Context, id catalog.OperationID) (catalog.Operation, error) {
	a, err := caller.From(ctx)
	if err != nil {
		return catalog.Operation{}, err
	}
	return o.Store.Operation(ctx, a.Org, id)
}

// Cancel stops a running operation, or removes the result of an ended one. The record stays
// until it expires. Cancel is idempotent.
func (o Service) Cancel(ctx context.Context, id catalog.OperationID) (catalog.Operation, error) {
	found, err := o.Get(ctx, id)
	if err != nil {
		return found, err
	}
	if !found.State.Ended() {
		found, err = o.Store.CancelOperation(ctx, found.Org, id)
		o.Runner.Cancel(id)
		return found, err
	}
	if err := o.Runner.opts.Discard(ctx, found); err != nil {
		return found, err
	}
	return o.Store.ForgetOperation(ctx, found.Org, id)
}

// RunWithin runs work of the caller and waits for it. If the work takes longer than
// patience, it continues as an operation, which RunWithin returns; result makes the
// operation's result from the work's. Until then the work ends with its request. The work may
// report its progress at any time; other fields of the task are not set for it.
func RunWithin[T any](
	ctx context.Context, o Service, kind catalog.OperationKind, patience time.Duration, work func(context.Context, *Task) (T, error),
	result func(T) any,
) (answer T, goesOn *catalog.Operation, err error) {
	return RunAndKeep(ctx, o, kind, patience, work, func(_ context.Context, _ *Task, answer T) (done Done, err error) {
		done.Result, err = json.Marshal(result(answer))
		return done, err
	})
}

// RunAndKeep is [RunWithin] for work whose result is not only a document of the catalog: keep
// makes the outcome of the operation from the result of the work, when all fields of the
// task are set.
func RunAndKeep[T any](
	ctx context.Context, o Service, kind catalog.OperationKind, patience time.Duration, work func(context.Context, *Task) (T, error),
	keep func(context.Context, *Task, T) (Done, error),
) (answer T, goesOn *catalog.Operation, err error) {
	a, err := caller.From(ctx)
	if err != nil {
		return answer, nil, err
	}
	type end struct {
		answer T
		err    error
	}
	detached, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	t := &Task{actor: a, ctx: detached, cancel: cancel}
	ended := make(chan end, 1)
	go func() {
		var e end
		e.err = recovered(func() (err error) {
			e.answer, err = work(detached, t)
			return err
		})
		ended <- e
	}()
	if patience > 0 { // otherwise work that ends at once becomes an operation, too
		timer := time.NewTimer(patience)
		defer timer.Stop()
		select {
		case e := <-ended:
			cancel(nil)
			return e.answer, nil, e.err
		case <-ctx.Done():
			cancel(ctx.Err())
			e := <-ended
			return e.answer, nil, e.err
		case <-timer.C:
		}
	}
	if err := o.Runner.admit(ctx, t, kind, true); err != nil {
		cancel(err)
		<-ended
		return answer, nil, err
	}
	go func() {
		e := <-ended
		var done Done
		if e.err == nil {
			e.err = recovered(func() (err error) {
				done, err = keep(detached, t, e.answer)
				return err
			})
		}
		o.Runner.end(t, done, e.err)
	}()
	return answer, &t.Operation, nil
}
