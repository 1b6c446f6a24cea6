package operation

import (
	"context"
	"encoding/json"
	"time"

	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/catalog"
)

// StartAndWait runs work of the caller as an operation from its beginning, and waits for
// it. It is for work that must not stop when the client disconnects. If the work takes
// longer than patience, StartAndWait returns the operation, still running, and with no
// patience at once; result makes the operation's result from the work's. Errors are those of
// the work, and [ErrFailed] for work that was cancelled.
func StartAndWait[T any](
	ctx context.Context, o Service, a caller.Identity, kind catalog.OperationKind, patience time.Duration,
	work func(context.Context, *Task) (T, error), result func(T) any,
) (answer T, goesOn *catalog.Operation, err error) {
	var worked T
	ended := make(chan error, 1)
	started, err := o.Runner.start(ctx, a, kind, func(ctx context.Context, t *Task) (done Done, err error) {
		if worked, err = work(ctx, t); err != nil {
			return done, err
		}
		done.Result, err = json.Marshal(result(worked))
		return done, err
	}, func(err error) { ended <- err })
	if err != nil {
		return answer, nil, err
	}
	if patience <= 0 {
		return answer, &started, nil
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case err := <-ended:
		if err != nil {
			return answer, nil, err
		}
		return worked, nil, nil
	case <-ctx.Done():
		return answer, nil, ctx.Err()
	case <-timer.C:
		return answer, &started, nil
	}
}
