package write

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/api/ops/query"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/dml"
)

// Delete removes the visible rows that fulfil a condition, which is SQL of the caller.
// Errors: those of a statement, and those of [Service.Insert].
func (o Service) Delete(ctx context.Context, path access.Path, where string, options Options) (Result, error) {
	return o.change(ctx, path, "rows.delete", auth.ScopeRowsDelete, where, nil, options, dml.Delete)
}

// Update gives columns new values in the visible rows that fulfil a condition. set holds SQL expressions over the old values by column.
func (o Service) Update(ctx context.Context, path access.Path, where string, set map[string]string, options Options) (Result, error) {
	if len(set) == 0 {
		return Result{}, fault.Invalid("set", "must name a column")
	}
	return o.change(ctx, path, "rows.update", auth.ScopeRowsUpdate, where, set, options, dml.Update)
}

func (o Service) change(ctx context.Context, path access.Path, action string, scope auth.Scope, where string, set map[string]string,
	options Options,
	apply func(context.Context, dml.Table, dml.Options, dml.Changes) (dml.Result, error),
) (Result, error) {
	words := []string{where}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		words = append(words, name, set[name])
	}
	changes := func(column string) bool {
		for name := range set {
			if strings.EqualFold(name, column) {
				return true
			}
		}
		return false
	}
	return o.run(ctx, path, action, []auth.Scope{scope}, words, options, changes, func(context.Context, *writing) error { return nil },
		func(ctx context.Context, w *writing) (dml.Result, error) {
			if err := w.mayChange(ctx, "set", changes); err != nil {
				return dml.Result{}, err
			}
			changes, err := w.find(ctx, where, set)
			if err != nil {
				return dml.Result{}, err
			}
			held, opts, err := w.session(ctx)
			if err != nil {
				return dml.Result{}, err
			}
			defer releaseAsync(held)
			return apply(ctx, w.target, opts, changes)
		})
}

// find finds out, under the caller's policies, which rows a condition means and what the
// expressions give for them. The rows are in a file of the scratch directory.
func (w *writing) find(ctx context.Context, where string, set map[string]string) (dml.Changes, error) {
	out := dml.Changes{File: "positions-" + strconv.Itoa(w.plans) + ".parquet"}
	w.plans++
	found, err := w.Queries.FindRows(ctx, query.RowsQuery{
		Table: w.table, Where: where, Set: set, Timeout: w.Timeout,
		OnBasis: func(b access.Basis) {
			w.basis = b
			w.watchBasis()
		},
	}, func(result engine.Result) (err error) {
		out.Count, err = spoolResult(ctx, result, filepath.Join(w.scratch, out.File), len(set))
		return err
	})
	if err == nil && found.List == nil {
		err = dml.ErrNotListed
	}
	out.List, out.Set = found.List, found.Set
	return out, err
}
