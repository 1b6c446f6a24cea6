package table

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/api/ops/write"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/constraint"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/delta/action"
)

// Constraint is a CHECK constraint as a caller may see it.
type Constraint struct {
	Name string
	// Expression is Spark's SQL for a constraint of the log, else the author's.
	Expression string
	// Validated reports that the constraint is in the table's log: every row satisfies it
	// and every writer enforces it. Other constraints bind writes through this server.
	Validated bool
	// Portable reports that the constraint can be in the log.
	Portable bool
	// Reason is the reason why it is not portable, or why rows cannot be written.
	Reason string
	// Enforceable is false for a constraint that this server cannot evaluate; the
	// table cannot be written to then.
	Enforceable bool
}

// promotionTime bounds the check of all rows when a constraint is added. The constraint binds
// new rows whatever the outcome.
const promotionTime = 20 * time.Second

// AddConstraints adds all of them or none; from then on new rows must satisfy
// them. The constraints that other writers can evaluate too, and that every row satisfies, are
// moved to the table's log; the others stay in the catalog. With async the check of the rows is
// an operation. Errors: access.ErrPartlyVisible, catalog.FieldErrors, catalog.ErrExists, those
// of opening a table.
func (o Rules) AddConstraints(
	ctx context.Context, path access.Path, constraints []catalog.NewConstraint, async bool,
) (*catalog.Operation, error) {
	r, err := o.find(ctx, path)
	if err != nil {
		return nil, err
	}
	if _, err := r.door.Whole(ctx); err != nil {
		return nil, err
	}
	if err := o.refuseCopy(ctx, r); err != nil {
		return nil, err
	}
	if err := catalog.ValidateConstraints(constraints); err != nil {
		return nil, err
	}
	if err := r.unused(constraints); err != nil {
		return nil, err
	}
	if err := o.usable(ctx, r, constraints); err != nil {
		return nil, err
	}
	if err := o.Store.AddConstraints(ctx, r.actor.Viewer, r.table.ID, constraints, r.actor.User); err != nil {
		return nil, err
	}
	if async {
		_, goesOn, err := validated(ctx, o, path, true, func(ctx context.Context, o Rules) (struct{}, error) {
			_, err := o.promote(ctx, path, constraints)
			return struct{}{}, err
		}, nothing)
		return goesOn, err
	}
	ctx, cancel := context.WithTimeout(ctx, promotionTime)
	defer cancel()
	// After a violation, a lost race or a timeout the constraint stays in the catalog, where
	// it binds new rows.
	_, _ = o.promote(ctx, path, constraints)
	return nil, nil
}

// refuseCopy returns access.ErrTableAmbiguous for a table with the id of another one that was
// registered earlier. The catalog keeps constraints by the id, so they would be those of the
// other table, with other columns and other people who see it.
func (o Rules) refuseCopy(ctx context.Context, r ruled) error {
	original, err := o.Tables.Registered(authz.System(ctx, "original of a table"), catalog.SystemViewer(r.table.Org), "", r.table.DeltaID)
	switch {
	case errors.Is(err, catalog.ErrNotFound): // its id has changed since it was opened
		return nil
	case err == nil && original.ID != r.table.ID:
		return access.ErrTableAmbiguous
	}
	return err
}

// unused refuses names of constraints that the table's log has.
func (r ruled) unused(constraints []catalog.NewConstraint) error {
	inLog := r.snap.Constraints()
	for i, c := range constraints {
		if _, ok := inLog[strings.ToLower(c.Name)]; ok {
			return &catalog.ExistsError{Field: fmt.Sprintf("constraints[%d].name", i)}
		}
	}
	return nil
}

// usable refuses what is not a condition over columns that the caller sees unmasked: a
// constraint on masked values would reveal them.
func (o Rules) usable(ctx context.Context, r ruled, constraints []catalog.NewConstraint) error {
	var problems catalog.FieldErrors
	var checks []constraint.Rule
	for i, c := range constraints {
		check, message, err := o.parse(ctx, r, c.Expression)
		if err != nil {
			return err
		}
		if message != "" {
			problems = append(problems, catalog.FieldError{Field: fmt.Sprintf("constraints[%d].expr", i), Message: message})
			continue
		}
		checks = append(checks, constraint.CheckRule(c.Name, check))
	}
	if len(problems) > 0 {
		return problems
	}
	return o.evaluable(ctx, r, checks)
}

// parse parses an expression of the caller; message is what is wrong with it.
func (o Rules) parse(ctx context.Context, r ruled, text string) (check constraint.Check, message string, err error) {
	visible := delta.Struct{}
	for _, f := range r.snap.Schema().Fields {
		if !r.view.Hides(f.Name) {
			visible.Fields = append(visible.Fields, f)
		}
	}
	check, err = constraint.ParseCheck(ctx, o.Parser, visible, text)
	var refusal *constraint.CheckError
	if errors.As(err, &refusal) {
		if refusal.Position >= 0 {
			return check, fmt.Sprintf("byte %d: %s", refusal.Position+1, refusal.Message), nil
		}
		return check, refusal.Message, nil
	}
	if err != nil {
		return check, "", err
	}
	for _, name := range check.Columns() {
		if r.view.Masks(name) {
			return check, fmt.Sprintf("the column %q is masked", name), nil
		}
	}
	return check, "", nil
}

// evaluable has the engine evaluate the conditions over no rows, which finds errors that the
// tree does not show, such as an invalid pattern.
func (o Rules) evaluable(ctx context.Context, r ruled, checks []constraint.Rule) error {
	return o.ask(ctx, r, func(ctx context.Context, scope constraint.Scope, _ constraint.Relation) error {
		columns := r.view.AllColumns()
		items := make([]string, len(columns))
		for i, c := range columns {
			items[i] = "NULL::" + c.Type.String() + " AS " + engine.QuoteIdent(c.Name)
		}
		scope.Sources = nil
		nothing := constraint.Relation{From: "(SELECT " + strings.Join(items, ", ") + " WHERE false)"}
		for i, check := range checks {
			_, err := scope.CountBroken(ctx, check, nothing)
			var failure *engine.Error
			if errors.As(err, &failure) && (failure.Kind == engine.KindBind || failure.Kind == engine.KindRuntime) {
				return fault.Invalid(fmt.Sprintf("constraints[%d].expr", i), "cannot be evaluated over these columns")
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Constraints lists the constraints of a table by name, without those that name a
// column which is hidden from the caller or masked.
func (o Rules) Constraints(ctx context.Context, path access.Path) ([]Constraint, error) {
	r, err := o.open(ctx, access.Ref{Path: path})
	if err != nil {
		return nil, err
	}
	return o.constraints(ctx, r)
}

// Constraint is one of [Rules.Constraints], by its name in any case. Errors:
// catalog.ErrNotFound, those of opening a table.
func (o Rules) Constraint(ctx context.Context, path access.Path, name string) (Constraint, error) {
	r, err := o.open(ctx, access.Ref{Path: path})
	if err != nil {
		return Constraint{}, err
	}
	return o.constraint(ctx, r, name)
}

func (o Rules) constraints(ctx context.Context, r ruled) ([]Constraint, error) {
	stored, err := o.Store.Constraints(ctx, r.actor.Org, r.table.DeltaID)
	if err != nil {
		return nil, err
	}
	inLog := r.snap.Constraints()
	out := []Constraint{}
	for _, name := range slices.Sorted(maps.Keys(inLog)) {
		check, err := constraint.ParseSpark(r.snap.Schema(), inLog[name])
		if r.view.Conceals(check, err, inLog[name]) {
			continue
		}
		c := Constraint{Name: name, Expression: inLog[name], Validated: true, Portable: true, Enforceable: true}
		if err != nil {
			c.Enforceable, c.Reason = false, "its expression has no certain meaning here"
		}
		out = append(out, c)
	}
	for _, k := range stored {
		if write.InLog(ctx, o.Parser, r.snap, k) {
			continue
		}
		check, err := constraint.ParseCheck(ctx, o.Parser, r.snap.Schema(), k.Expression)
		if err != nil && !errors.Is(err, constraint.ErrInvalidCheck) {
			return nil, err
		}
		if r.view.Conceals(check, err, k.Expression) {
			continue
		}
		c := Constraint{Name: k.Name, Expression: k.Expression, Enforceable: true}
		if err != nil {
			c.Enforceable, c.Reason = false, "it does not fit the table's columns any more"
		} else {
			c.Reason, c.Portable = check.Portable()
		}
		out = append(out, c)
	}
	return out, nil
}

// constraint finds a constraint that the caller may see by its name in any case.
func (o Rules) constraint(ctx context.Context, r ruled, name string) (Constraint, error) {
	list, err := o.constraints(ctx, r)
	i := slices.IndexFunc(list, func(c Constraint) bool { return strings.EqualFold(c.Name, name) })
	if err == nil && i < 0 {
		err = catalog.ErrNotFound
	}
	if err != nil {
		return Constraint{}, err
	}
	return list[i], nil
}

// DropConstraint removes a constraint from the log or the catalog. If a policy reads a column
// of the constraint, that is a change of the whole table. Error: access.ErrPartlyVisible.
func (o Rules) DropConstraint(ctx context.Context, path access.Path, name string) error {
	r, err := o.find(ctx, path)
	if err != nil {
		return err
	}
	c, err := o.constraint(ctx, r, name)
	if err != nil {
		return err
	}
	if _, err := o.forConstraint(ctx, r, c); err != nil {
		return err
	}
	if err := o.refuseCopy(ctx, r); err != nil {
		return err
	}
	if err := o.Store.DeleteConstraint(ctx, r.actor.Viewer, r.table.ID, name); err != nil && !errors.Is(err, catalog.ErrNotFound) {
		return err
	}
	return o.alter(ctx, path, func(ctx context.Context, r ruled) (*alteration, error) {
		alter := r.snap.Alter()
		if !alter.DropConstraint(name) {
			return nil, nil
		}
		table, err := o.forConstraint(ctx, r, c)
		if err != nil {
			return nil, err
		}
		change, err := alter.Change()
		return &alteration{
			table: table, change: change, operation: "DROP CONSTRAINT", parameters: map[string]string{"name": action.JSONText(name)},
		}, err
	})
}

// forConstraint returns the table for the removal of a constraint.
func (o Rules) forConstraint(ctx context.Context, r ruled, c Constraint) (access.Changeable, error) {
	check, err := constraint.ParseSpark(r.snap.Schema(), c.Expression)
	if !c.Validated {
		check, err = constraint.ParseCheck(ctx, o.Parser, r.snap.Schema(), c.Expression)
	}
	return r.door.ForColumns(ctx, func(column string) bool { return access.ConditionNames(check, err, c.Expression, column) })
}
