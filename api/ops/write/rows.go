package write

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/api/ops/query"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine/dml"
	"github.com/lakewarden/lakewarden/engine/ingest/staging"
)

// Insert adds rows to a table. Errors: *dml.RowsError and *staging.RowsError name
// rows; those of ingest, delta, sessions and the store.
func (o Service) Insert(ctx context.Context, path access.Path, body Body, options Options) (Result, error) {
	var rows staged
	return o.run(ctx, path, "rows.insert", []auth.Scope{auth.ScopeRowsInsert}, nil, options, nil,
		func(ctx context.Context, w *writing) (err error) {
			if rows, err = w.stage(ctx, body); err == nil && len(rows.members) > 0 {
				err = unknownMember(rows.members)
			}
			return err
		}, func(ctx context.Context, w *writing) (dml.Result, error) {
			if err := errors.Join(w.writable(rows), w.mustFill(rows)); err != nil {
				return dml.Result{}, err
			}
			held, opts, err := w.session(ctx)
			if err != nil {
				return dml.Result{}, err
			}
			defer releaseAsync(held)
			return dml.Insert(ctx, w.target, opts, rows.Rows)
		})
}

// writable refuses rows that name columns which are now hidden from the caller or masked: the
// body may have been read before a policy was made.
func (w *writing) writable(rows staged) error {
	for _, shape := range rows.Shapes {
		for _, name := range shape {
			switch {
			case w.table.Hides(name):
				return fault.Invalid("rows."+name, "must be a column of the table")
			case w.table.Masks(name):
				return fault.Invalid("rows."+name, query.MaskedColumn)
			}
		}
	}
	return nil
}

// mayChange refuses to change columns of existing rows that a rule of the table, or the caller's row
// filter, checks together with a column that is hidden from the caller or masked: whether the check
// passes would tell about the values there. A caller who may change the whole table may do it. field is the member of the request that has
// the new values.
func (w *writing) mayChange(ctx context.Context, field string, changes func(column string) bool) error {
	column, found := w.target.ComparedWithHidden(changes)
	if !found {
		return nil
	}
	if whole, err := w.table.MayChangeWhole(ctx); err != nil || whole {
		return err
	}
	return fault.Invalid(field+"."+column, "is checked together with a column that the caller does not see")
}

// mustFill refuses new rows that omit a column whose default cannot be evaluated here.
// The error does not name a hidden column.
func (w *writing) mustFill(rows staged) error {
	columns := w.target.Rules.Unfilled()
	if len(rows.Shapes) > 0 && slices.ContainsFunc(columns, w.table.Hides) {
		return fault.Invalid("rows", "cannot be added: the table has a default that cannot be evaluated here")
	}
	return rows.mustName(columns, "is required: the default of the column cannot be evaluated here")
}

func unknownMember(members map[string]json.RawMessage) error {
	for _, name := range slices.Sorted(maps.Keys(members)) {
		return fault.Invalid(name, "is not a field of this request")
	}
	return nil
}

// mustName refuses rows that do not name columns. The error has the first row of each set of
// columns that lacks one.
func (s staged) mustName(columns []string, message string) error {
	var missing catalog.FieldErrors
	for i, shape := range s.Shapes {
		for _, column := range columns {
			if !slices.Contains(shape, column) {
				place := staging.Problem{Row: s.firsts[i], Column: column}
				missing = append(missing, catalog.FieldError{Field: place.Field(), Message: message})
			}
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return missing
}
