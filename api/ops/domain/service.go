package domain

import (
	"context"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/api/ops/operation"
	"github.com/lakewarden/lakewarden/api/ops/query"
	"github.com/lakewarden/lakewarden/api/ops/write"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine/delta"
)

// Service manages the domains of columns and the shared domains of an organisation.
type Service struct {
	Store      catalog.Store
	Tables     access.Tables
	Queries    *query.Service
	Writes     write.Service
	Operations operation.Service
	// Changes carries out changes of values together with rows.
	Changes *Changes
	// Confirmed is that of [query.Service].
	Confirmed func() error
}

// column is a column of a table as its caller may see it.
type column struct {
	actor caller.Identity
	table access.Table
	field delta.Field
}

// open opens the newest version of a table for the caller, who must have scope where the
// table is unless it is empty, and finds a column. A hidden column is reported as missing.
func (o Service) open(ctx context.Context, path access.Path, name string, scope auth.Scope) (column, error) {
	if err := o.Confirmed(); err != nil {
		return column{}, err
	}
	a, err := caller.From(ctx)
	if err != nil {
		return column{}, err
	}
	t, err := o.Tables.Open(ctx, a, access.Ref{Path: path, Scope: scope})
	if err != nil {
		return column{}, err
	}
	f, ok := t.Column(name)
	if !ok {
		return column{}, catalog.ErrNotFound
	}
	return column{actor: a, table: t, field: f}, nil
}

// located returns the table's record in the catalog.
func (c column) located() catalog.LocatedTable { return c.table.Located() }

// masked reports whether the caller does not see the values of the column as they are.
func (c column) masked() bool { return c.table.Masks(c.field.Name) }

// domain returns the domain of the column, or catalog.ErrNotFound.
func (o Service) domain(ctx context.Context, c column) (catalog.ColumnDomain, error) {
	domains, err := o.Store.TableDomains(ctx, c.actor.Org, c.located().DeltaID)
	if err != nil {
		return catalog.ColumnDomain{}, err
	}
	return find(domains, c.table.FileName(c.field))
}

// find returns the domain of a column by its physical name, or catalog.ErrNotFound.
func find(domains catalog.TableDomains, physical string) (catalog.ColumnDomain, error) {
	for _, d := range domains.Columns {
		if d.Column == physical {
			return d, nil
		}
	}
	return catalog.ColumnDomain{}, catalog.ErrNotFound
}

// fieldByPhysical returns the column of a table that has a physical name, if it is visible.
func fieldByPhysical(t access.Table, physical string) (delta.Field, bool) {
	f, ok := t.PhysicalColumn(physical)
	if !ok || t.Hides(f.Name) {
		return delta.Field{}, false
	}
	return f, true
}

// unseen refuses what only callers who see all of a table may do.
func requireWhole(t access.Table) error {
	if !t.Whole() {
		return access.ErrRowsFiltered
	}
	return nil
}

// maskedColumn refuses to change or compare values of a masked column.
func (c column) requireUnmasked(field string) error {
	if c.masked() {
		return fault.Invalid(field, query.MaskedColumn)
	}
	return nil
}
