package table

import (
	"context"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/operation"
	"github.com/lakewarden/lakewarden/catalog"
)

// validated runs work that may look at all rows of a table. With async it is an
// operation from its beginning, which waits for its turn as long as it takes and
// says how many rules it has looked at. Otherwise the caller waits, and what takes
// longer than patience goes on as an operation. The path is resolved first, so
// that a caller who may not do it hears so at once.
func validated[T any](
	ctx context.Context, o Rules, path access.Path, async bool, work func(context.Context, Rules) (T, error), result func(T) any,
) (none T, _ *catalog.Operation, err error) {
	r, err := o.find(ctx, path)
	if err != nil {
		return none, nil, err
	}
	if !async {
		return operation.RunWithin(ctx, o.Operations, catalog.OperationValidate, o.Operations.Patience,
			func(ctx context.Context) (T, error) { return work(ctx, o) }, result)
	}
	return operation.StartAndWait(ctx, o.Operations, r.actor, catalog.OperationValidate, 0,
		func(ctx context.Context, t *operation.Task) (T, error) {
			tasked := o
			tasked.task = t
			return work(ctx, tasked)
		}, result)
}

// nothing is the result of work that answers with an empty object.
func nothing(struct{}) any { return struct{}{} }

// looked tells an operation that it has looked at n of all rules; callers who do
// not see the whole table hear nothing.
func (o Rules) looked(r ruled, n, all int) {
	if o.task != nil && r.view.Whole() {
		o.task.Progress(catalog.Progress{Done: int64(n), Total: int64(all), Unit: "rules"})
	}
}
