package table

import (
	"context"
	"errors"
	"strings"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine/constraint"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/delta/action"
)

// ValidateConstraint checks whether every row satisfies a constraint, and moves it to the
// table's log if other writers can evaluate it too. Errors:
// [RowsError], access.ErrPartlyVisible, those of opening a table and of commits. A long check continues as an operation, whose
// result is made by result; with async it always is one.
func (o Rules) ValidateConstraint(
	ctx context.Context, path access.Path, name string, async bool, result func(Constraint) any,
) (Constraint, *catalog.Operation, error) {
	return validated(ctx, o, path, async, func(ctx context.Context, o Rules) (Constraint, error) {
		return o.validateConstraint(ctx, path, name)
	}, result)
}

func (o Rules) validateConstraint(ctx context.Context, path access.Path, name string) (Constraint, error) {
	r, err := o.find(ctx, path)
	if err != nil {
		return Constraint{}, err
	}
	c, err := o.constraint(ctx, r, name)
	switch {
	case err != nil || c.Validated:
		return c, err
	}
	if _, err := r.door.Whole(ctx); err != nil {
		return c, err
	}
	if err := o.refuseCopy(ctx, r); err != nil {
		return c, err
	}
	if !c.Enforceable {
		return c, &delta.FeatureError{Feature: "CHECK constraint " + c.Name, Write: true, Reason: c.Reason}
	}
	broken, err := o.promote(ctx, path, []catalog.NewConstraint{{Name: c.Name, Expression: c.Expression}})
	if err != nil {
		return c, err
	}
	if n := broken[c.Name]; n > 0 {
		return c, &RowsError{catalog.FieldErrors{r.against("expr", n, "rows that do not satisfy it")}}
	}
	if r, err = o.find(ctx, path); err != nil {
		return c, err
	}
	return o.constraint(ctx, r, name)
}

// promote moves constraints from the catalog to the table's log, if that is possible, in one
// commit. It returns how many rows violate each of the portable ones that were not moved.
func (o Rules) promote(ctx context.Context, path access.Path, constraints []catalog.NewConstraint) (broken map[string]int64, err error) {
	var moved []string
	var last ruled
	err = o.alter(ctx, path, func(ctx context.Context, r ruled) (*alteration, error) {
		last, moved, broken = r, nil, map[string]int64{}
		if err := o.refuseCopy(ctx, r); err != nil {
			return nil, err
		}
		table, err := r.door.Whole(ctx)
		if err != nil {
			return nil, err
		}
		alter := r.snap.Alter()
		err = o.ask(ctx, r, func(ctx context.Context, scope constraint.Scope, rows constraint.Relation) error {
			for i, c := range constraints {
				o.looked(r, i, len(constraints))
				n, ok, err := o.promotable(ctx, r, scope, rows, c, alter)
				if err != nil {
					return err
				}
				if broken[c.Name] = n; ok {
					moved = append(moved, c.Name)
				}
			}
			return nil
		})
		if err != nil || len(moved) == 0 {
			return nil, err
		}
		change, err := alter.Change()
		return &alteration{
			table: table, change: change, operation: "ADD CONSTRAINT", everyRow: true,
			parameters: map[string]string{"name": action.JSONText(strings.Join(moved, ","))},
		}, err
	})
	if err != nil {
		return broken, err
	}
	for _, name := range moved {
		if err := o.Store.DeleteConstraint(ctx, last.actor.Viewer, last.table.ID, name); err != nil && !errors.Is(err, catalog.ErrNotFound) {
			return broken, err
		}
	}
	return broken, nil
}

// promotable counts the rows that violate a constraint. If none does and other writers can
// evaluate the constraint, promotable adds it to the alteration.
func (o Rules) promotable(
	ctx context.Context, r ruled, scope constraint.Scope, rows constraint.Relation, c catalog.NewConstraint, alter *delta.Alteration,
) (int64, bool, error) {
	check, message, err := o.parse(ctx, r, c.Expression)
	if err != nil || message != "" {
		return 0, false, err
	}
	n, err := scope.CountBroken(ctx, constraint.CheckRule(c.Name, check), rows)
	if err != nil || n > 0 {
		return n, false, err
	}
	if _, portable := check.Portable(); !portable {
		return 0, false, nil
	}
	if _, there := r.snap.Constraints()[strings.ToLower(c.Name)]; there {
		return 0, false, nil
	}
	return 0, true, alter.AddConstraint(c.Name, check.Spark())
}
