package table

import (
	"context"
	"slices"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine/constraint"
	"github.com/lakewarden/lakewarden/engine/delta"
)

// sameDomains returns the version of the table's domains if they can remain in force when a
// historical version is restored: their columns have the same types there, and a domain that
// all present rows satisfy is satisfied by the historical ones too.
func (o Rules) sameDomains(ctx context.Context, now, then ruled) (version int64, err error) {
	all, err := o.columnDomains(ctx, now)
	if err != nil {
		return 0, err
	}
	if err := inUse(o.lostDomains(ctx, now, then, all)); err != nil {
		return 0, err
	}
	if then.domains, err = o.Domains.Rules(ctx, then.view, nil); err != nil || len(then.domains.Columns) == 0 {
		return then.domains.Version, err
	}
	for _, c := range then.domains.Columns {
		if err := o.Domains.PermitSource(ctx, now.actor, c); err != nil {
			return 0, err
		}
	}
	broken, err := o.outsideDomains(ctx, then)
	if err != nil || !slices.ContainsFunc(broken, func(n int64) bool { return n > 0 }) {
		return then.domains.Version, err
	}
	if now.domains, err = o.Domains.Rules(ctx, now.view, nil); err != nil {
		return 0, err
	}
	if now.domains.Version != then.domains.Version {
		return 0, catalog.ErrDomainsChanged
	}
	already, err := o.outsideDomains(ctx, now)
	if err != nil {
		return 0, err
	}
	var problems catalog.FieldErrors
	for i, rule := range now.domains.Columns {
		if broken[i] > 0 && already[i] == 0 {
			problems = append(problems, now.against("domains", broken[i], "values outside the domain of the column "+rule.Column.Name))
		}
	}
	if len(problems) > 0 {
		return 0, &RowsError{problems}
	}
	return now.domains.Version, nil
}

// lostDomains returns the domains of which a historical version lacks a column, or has it
// with another type.
func (o Rules) lostDomains(ctx context.Context, now, then ruled, all columnDomains) (out catalog.FieldErrors) {
	lacks := func(column string) bool {
		f, known := now.view.PhysicalColumn(column)
		before, found := then.view.PhysicalColumn(column)
		return known && (!found || !delta.EqualTypes(f.Type, before.Type))
	}
	for _, d := range all.own {
		if column, _ := now.view.PhysicalColumn(d.Column); lacks(d.Column) || lacks(d.Parent) {
			out = append(out, catalog.FieldError{Field: "domains",
				Message: "the domain of the column " + column.Name + " needs a column that the version does not have in the same type"})
		}
	}
	from := slices.DeleteFunc(slices.Clone(all.from), func(d catalog.ColumnDomain) bool {
		return !lacks(d.Domain.Source.Column) && !lacks(d.Domain.Source.ParentKey)
	})
	return append(out, dependentColumns(ctx, o.Store, o.Tables, now.actor, from)...)
}

// outsideDomains returns the number of rows outside each domain of r. Errors: a
// [write.SourceError], and those of the session.
func (o Rules) outsideDomains(ctx context.Context, r ruled) (counts []int64, err error) {
	err = o.ask(ctx, r, func(ctx context.Context, scope constraint.Scope, rows constraint.Relation) error {
		for _, c := range r.domains.Columns {
			if c.Err != nil {
				return c.Err
			}
			reading := scope
			reading.Sources = append(slices.Clone(scope.Sources), c.Sources...)
			n, err := reading.CountBroken(ctx, c.Rule, rows)
			if err != nil {
				return err
			}
			counts = append(counts, n)
		}
		return nil
	})
	return counts, err
}
