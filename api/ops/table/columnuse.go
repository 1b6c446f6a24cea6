package table

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/write"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine/constraint"
	"github.com/lakewarden/lakewarden/engine/delta"
)

// ColumnInUseError: policies, constraints, domains, keys or partitions depend on a column: 409.
type ColumnInUseError struct{ Dependants catalog.FieldErrors }

// Error implements error.
func (e *ColumnInUseError) Error() string { return "column in use: " + e.Dependants.Error() }

// ProblemCode names the line in the table of errors.
func (e *ColumnInUseError) ProblemCode() string { return "column_in_use" }

// Unwrap returns the dependants as fields.
func (e *ColumnInUseError) Unwrap() error { return e.Dependants }

// inUse returns a [ColumnInUseError] if there are dependants.
func inUse(dependants catalog.FieldErrors) error {
	if len(dependants) == 0 {
		return nil
	}
	return &ColumnInUseError{dependants}
}

// named returns the policies and constraints that name a column. While there is one, the type
// of the column does not change, so that no policy loses what it protects.
func (o Rules) named(ctx context.Context, r ruled, column string) (catalog.FieldErrors, error) {
	policies, err := o.policiesNaming(ctx, r, column)
	if err != nil {
		return nil, err
	}
	constraints, err := o.constraintsNaming(ctx, r, column)
	return append(dependent(policies), constraints...), err
}

// holding returns the policies, constraints and domains that keep a column from being dropped.
func (o Rules) holding(ctx context.Context, r ruled, column delta.Field) (catalog.FieldErrors, error) {
	policies, err := o.policiesNaming(ctx, r, column.Name)
	if err != nil {
		return nil, err
	}
	constraints, err := o.constraintsNaming(ctx, r, column.Name)
	if err != nil {
		return nil, err
	}
	domains, err := o.restricting(ctx, r, column)
	return slices.Concat(dependent(slices.DeleteFunc(policies, outlasts)), constraints, domains), err
}

// outlasts reports whether a policy may lose its column: a policy of every table that hides or
// masks, which also applies to historical versions.
func outlasts(p catalog.Policy) bool { return p.Table == "" && p.Kind != catalog.PolicyRows }

// free returns nil for a name that a column other than but can take. A name that a policy names
// would bring the policy into force on this table, and a permit could show rows that nobody may
// see here, so callers who change tables must not choose it. Hidden columns are among these,
// and look like columns of other tables.
func (o Rules) free(ctx context.Context, r ruled, name, but string) error {
	if r.taken(name, but) {
		return &catalog.ExistsError{Field: "name"}
	}
	policies, err := o.policiesNaming(ctx, r, name)
	return errors.Join(err, inUse(dependent(policies)))
}

// decided returns a [ColumnInUseError] while a policy of the table names a column that
// the table lacks. The column may have a new name that the policy does not have yet:
// another rename, or a new column of the old name, would give the policy another column.
func (o Rules) decided(ctx context.Context, r ruled) error {
	policies, err := o.Tables.PoliciesAbout(ctx, r.table)
	lacks := func(name string) bool {
		return !slices.ContainsFunc(r.snap.Schema().Fields, func(f delta.Field) bool { return strings.EqualFold(f.Name, name) })
	}
	policies = slices.DeleteFunc(policies, func(p catalog.Policy) bool {
		return p.Table == "" || !slices.ContainsFunc(access.PolicyColumns(p.PolicySpec), lacks)
	})
	var dependants catalog.FieldErrors
	for _, p := range policies {
		dependants = append(dependants, dependantPolicy(p, "names a column that the table does not have"))
	}
	return errors.Join(err, inUse(dependants))
}

func (o Rules) policiesNaming(ctx context.Context, r ruled, column string) ([]catalog.Policy, error) {
	policies, err := o.Tables.PoliciesAbout(ctx, r.table)
	return slices.DeleteFunc(policies, func(p catalog.Policy) bool { return !access.PolicyNames(p.PolicySpec, column) }), err
}

func dependent(policies []catalog.Policy) (out catalog.FieldErrors) {
	for _, p := range policies {
		out = append(out, dependantPolicy(p, "names it"))
	}
	return out
}

func dependantPolicy(p catalog.Policy, what string) catalog.FieldError {
	return catalog.FieldError{Field: "policies", Message: fmt.Sprintf("the policy %s of kind %s %s", p.ID, p.Kind, what)}
}

// constraintsNaming returns the constraints of the log and of the catalog whose expressions name
// a column. Constraints that also name a hidden or masked column stay anonymous.
func (o Rules) constraintsNaming(ctx context.Context, r ruled, column string) (out catalog.FieldErrors, err error) {
	note := func(name, expression string, check constraint.Check, err error) {
		switch {
		case !access.ConditionNames(check, err, expression, column):
			return
		case r.view.Conceals(check, err, expression):
			out = append(out, catalog.FieldError{Field: "constraints", Message: "a constraint names it"})
		default:
			out = append(out, catalog.FieldError{Field: "constraints", Message: "the constraint " + name + " names it"})
		}
	}
	inLog := r.snap.Constraints()
	for _, name := range slices.Sorted(maps.Keys(inLog)) {
		check, err := constraint.ParseSpark(r.snap.Schema(), inLog[name])
		note(name, inLog[name], check, err)
	}
	stored, err := o.Store.Constraints(ctx, r.actor.Org, r.table.DeltaID)
	if err != nil {
		return nil, err
	}
	for _, k := range stored {
		if write.InLog(ctx, o.Parser, r.snap, k) {
			continue
		}
		check, err := constraint.ParseCheck(ctx, o.Parser, r.snap.Schema(), k.Expression)
		if err != nil && !errors.Is(err, constraint.ErrInvalidCheck) {
			return nil, err
		}
		note(k.Name, k.Expression, check, err)
	}
	return out, nil
}

// built returns the parts of the table that need a column: keys and partitions.
func (r ruled) built(column string) (out catalog.FieldErrors) {
	note := func(field, message string) { out = append(out, catalog.FieldError{Field: field, Message: message}) }
	keys := constraint.KeysOf(r.snap.Schema(), r.snap.Properties())
	switch {
	case keys.IsPrimary(column):
		note("primary_key", "the column is part of the primary key")
	case keys.IsUnique(column):
		note("is_unique", "the column is unique")
	}
	if slices.Contains(r.snap.PartitionColumns(), column) {
		note("partition_columns", "the table is partitioned by the column")
	}
	return out
}

// moved returns the columns that a policy names and that are other columns at another version of
// the table: the policy would govern another column there, or none, or one that the table does
// not have now. A policy also governs a dropped column by its last name.
func (o Rules) moved(ctx context.Context, r ruled, target *delta.Snapshot) (out catalog.FieldErrors, err error) {
	policies, err := o.Tables.PoliciesAbout(ctx, r.table)
	if err != nil {
		return nil, err
	}
	then := map[string]delta.Field{}
	for _, f := range target.Schema().Fields {
		then[strings.ToLower(f.Name)] = f
	}
	for _, now := range r.snap.Schema().Fields {
		f, ok := then[strings.ToLower(now.Name)]
		if ok && f.PhysicalName() == now.PhysicalName() && delta.EqualTypes(f.Type, now.Type) {
			continue
		}
		for _, p := range policies {
			if access.PolicyNames(p.PolicySpec, now.Name) {
				out = append(out, dependantPolicy(p, "names the column "+now.Name+", which is not the same there"))
			}
		}
	}
	for _, f := range target.Schema().Fields {
		if slices.ContainsFunc(r.snap.Schema().Fields, func(now delta.Field) bool { return strings.EqualFold(now.Name, f.Name) }) {
			continue
		}
		for _, p := range policies {
			if access.PolicyNames(p.PolicySpec, f.Name) && !outlasts(p) {
				out = append(out, dependantPolicy(p, "names the column "+f.Name+", which only that version has"))
			}
		}
	}
	for _, last := range access.DroppedUnderOtherNames(r.snap, target) {
		for _, p := range policies {
			if access.PolicyNames(p.PolicySpec, last) {
				out = append(out, dependantPolicy(p, "names the dropped column "+last+", which has another name there"))
			}
		}
	}
	return out, nil
}
