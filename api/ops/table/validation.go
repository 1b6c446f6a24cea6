package table

import (
	"context"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/operation"
	"github.com/lakewarden/lakewarden/catalog"
)

// validated runs work that may read all rows of a table. With async it is an operation from
// its beginning, which waits for its turn and reports how many rules it has checked.
// Otherwise the caller waits, and work that takes longer than patience continues as an
// operation. The path is resolved first, so that a caller without the right to the work gets
// the error at once.
func validated[T any](
	ctx context.Context, o Rules, path access.Path, async bool, work func(context.Context, Rules) (T, error), result func(T) any,
) (none T, _ *catalog.Operation, err error) {
	r, err := o.find(ctx, path)
	if err != nil {
		return none, nil, err
	}
	if !async {
		return operation.RunWithin(ctx, o.Operations, catalog.OperationValidate, o.Operations.Patience,
			func(ctx context.Context, _ *operation.Task) (T, error) { return work(ctx, o) }, result)
	}
	return operation.StartAndWait(ctx, o.Operations, r.actor, catalog.OperationValidate, 0,
		func(ctx context.Context, t *operation.Task) (T, error) {
			tasked := o
			tasked.task = t
			return work(ctx, tasked)
		}, result)
}

// nothing is the result of work without an answer.
func nothing(struct{}) any { return struct{}{} }

// looked reports the progress of an operation, to callers who see the whole table.
func (o Rules) looked(r ruled, n, all int) {
	if o.task != nil && r.view.Whole() {
		o.task.Progress(catalog.Progress{Done: int64(n), Total: int64(all), Unit: "rules"})
	}
}
