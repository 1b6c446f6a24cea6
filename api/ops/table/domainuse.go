package table

import (
	"context"
	"fmt"
	"slices"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/domain"
)

// TableInUseError reports that domains of other tables take their values from a table: 409.
type TableInUseError struct{ Dependants catalog.FieldErrors }

// Error implements error.
func (e *TableInUseError) Error() string { return "table in use: " + e.Dependants.Error() }

// ProblemCode names the line in the table of errors.
func (e *TableInUseError) ProblemCode() string { return "table_in_use" }

// Unwrap returns the dependants as fields.
func (e *TableInUseError) Unwrap() error { return e.Dependants }

// unused returns a [TableInUseError] if the domain of a column of another table that is not
// gone takes its values from a table.
func (o Files) unused(ctx context.Context, a caller.Identity, t catalog.LocatedTable) error {
	uses, err := o.Store.DomainsFrom(authz.System(ctx, "domains from a table"), t.Org, t.DeltaID)
	uses = slices.DeleteFunc(uses, func(d catalog.ColumnDomain) bool { return d.Table == t.DeltaID })
	if err != nil || len(uses) == 0 {
		return err
	}
	return &TableInUseError{dependentColumns(ctx, o.Store, o.Tables, a, uses)}
}

// dependentColumns names the columns that the caller sees, and counts the others. Their
// domains take their values from another table.
func dependentColumns(ctx context.Context, store catalog.Tables, tables access.Tables, a caller.Identity,
	uses []catalog.ColumnDomain) (out catalog.FieldErrors) {
	others := 0
	for _, d := range uses {
		located, err := store.ResolveDelta(ctx, a.Viewer, d.Table)
		var t access.Table
		if err == nil {
			t, err = tables.Open(ctx, a, access.Ref{Table: &located})
		}
		column, found := delta.Field{}, false
		if err == nil {
			column, found = t.PhysicalColumn(d.Column)
		}
		if !found || t.Hides(column.Name) {
			others++
			continue
		}
		out = append(out, catalog.FieldError{Field: "domains",
			Message: fmt.Sprintf("the domain of the column %s of %s takes its values from it", column.Name, located.FQN())})
	}
	if others > 0 {
		out = append(out, catalog.FieldError{Field: "domains",
			Message: fmt.Sprintf("domains of columns that the caller does not see take their values from it: %d", others)})
	}
	return out
}

// columnDomains are the domains of a table's columns, and those of columns of any table
// whose values come from it.
type columnDomains struct{ own, from []catalog.ColumnDomain }

func (o Rules) columnDomains(ctx context.Context, r ruled) (out columnDomains, err error) {
	system := authz.System(ctx, "domains of a table")
	own, err := o.Store.TableDomains(system, r.actor.Org, r.table.DeltaID)
	if err == nil {
		out.own = own.Columns
		out.from, err = o.Store.DomainsFrom(system, r.actor.Org, r.table.DeltaID)
	}
	return out, err
}

// of selects the domains that concern a column, by its physical name.
func (d columnDomains) of(column string) (out columnDomains) {
	out.own = slices.DeleteFunc(slices.Clone(d.own), func(d catalog.ColumnDomain) bool { return d.Column != column && d.Parent != column })
	out.from = slices.DeleteFunc(slices.Clone(d.from), func(d catalog.ColumnDomain) bool {
		return d.Domain.Source == nil || d.Domain.Source.Column != column && d.Domain.Source.ParentKey != column
	})
	return out
}

// restricting returns the domains that concern a column, as dependants of it.
func (o Rules) restricting(ctx context.Context, r ruled, column delta.Field) (catalog.FieldErrors, error) {
	all, err := o.columnDomains(ctx, r)
	if err != nil {
		return nil, err
	}
	return o.describeDomains(ctx, r, all.of(r.view.PhysicalName(column))), nil
}

func (o Rules) describeDomains(ctx context.Context, r ruled, d columnDomains) (out catalog.FieldErrors) {
	for _, own := range d.own {
		message := "a domain restricts it"
		if column, ok := r.view.PhysicalColumn(own.Column); ok && !r.view.Hides(column.Name) {
			message = "the domain of the column " + column.Name + " depends on it"
		}
		out = append(out, catalog.FieldError{Field: "domains", Message: message})
	}
	return append(out, dependentColumns(ctx, o.Store, o.Tables, r.actor, d.from)...)
}

// unwidened returns the domains that keep a column from getting another type: domains whose
// values the new type would write in another way, and domains that would compare the column
// with a column of a type that is not comparable.
func (o Rules) unwidened(ctx context.Context, r ruled, column delta.Field, to delta.DataType) (catalog.FieldErrors, error) {
	all, err := o.columnDomains(ctx, r)
	if err != nil {
		return nil, err
	}
	name := r.view.PhysicalName(column)
	all = all.of(name)
	if domain.Comparable(to, column.Type) {
		all.from = nil
	}
	var held []catalog.ColumnDomain
	for _, d := range all.own {
		kept, err := o.keepsValues(ctx, d, name, column.Type, to)
		if err != nil {
			return nil, err
		}
		if !kept {
			held = append(held, d)
		}
	}
	all.own = held
	return o.describeDomains(ctx, r, all), nil
}

// keepsValues reports whether a domain allows the same values after its column, or its
// parent column, gets another type.
func (o Rules) keepsValues(ctx context.Context, d catalog.ColumnDomain, column string, from, to delta.DataType) (bool, error) {
	same := func(texts ...string) bool {
		return !slices.ContainsFunc(texts, func(text string) bool {
			again, err := domain.Canonical(to, text)
			return text != "" && (err != nil || again != text)
		})
	}
	switch {
	case d.Deleted():
		return true, nil
	case d.Domain.Source != nil:
		return domain.Comparable(to, from), nil
	case d.Domain.Range != nil:
		return domain.Bounded(to) && same(d.Domain.Range.Min, d.Domain.Range.Max), nil
	case !domain.Listable(to):
		return false, nil
	}
	values, err := o.Store.DomainValues(authz.System(ctx, "values of a domain"), d.Org, d.Domain.ID)
	if err != nil {
		return false, err
	}
	for _, v := range values.Values {
		concerned := d.Domain.Kind != catalog.DomainHierarchical || (v.Parent == "") == (column == d.Parent)
		if concerned && !same(v.Value, v.Joining) {
			return false, nil
		}
	}
	return true, nil
}
