package domain

import (
	"context"
	"errors"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/api/ops/operation"
	"github.com/lakewarden/lakewarden/api/ops/query"
	"github.com/lakewarden/lakewarden/api/ops/write"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
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
	// original is the registration that the domains belong to.
	original catalog.LocatedTable
}

// changeable is a column whose domain the caller may change.
type changeable struct {
	column
	door access.Changeable
}

// open opens the newest version of a table for the caller, and finds a column. A hidden column
// is reported as missing.
func (o Service) open(ctx context.Context, path access.Path, name string) (column, error) {
	a, err := o.caller(ctx)
	if err != nil {
		return column{}, err
	}
	t, err := o.Tables.Open(ctx, a, access.Ref{Path: path})
	if err != nil {
		return column{}, err
	}
	return o.columnOf(ctx, t, name)
}

// openForChange is open for a caller who must have domains:write where the table is. Domains
// are changed in the original only: in a copy, that is access.ErrTableAmbiguous.
func (o Service) openForChange(ctx context.Context, path access.Path, name string) (changeable, error) {
	a, err := o.caller(ctx)
	if err != nil {
		return changeable{}, err
	}
	t, err := o.Tables.OpenChangeable(ctx, a, access.Ref{Path: path, Scope: auth.ScopeDomainsWrite})
	if err != nil {
		return changeable{}, err
	}
	c, err := o.columnOf(ctx, t.AsSeen(), name)
	if err == nil && c.copied() {
		err = access.ErrTableAmbiguous
	}
	return changeable{c, t}, err
}

func (o Service) caller(ctx context.Context) (caller.Identity, error) {
	if err := o.Confirmed(); err != nil {
		return caller.Identity{}, err
	}
	return caller.From(ctx)
}

func (o Service) columnOf(ctx context.Context, t access.Table, name string) (column, error) {
	f, ok := t.Column(name)
	if !ok {
		return column{}, catalog.ErrNotFound
	}
	c := column{actor: t.Caller(), table: t, field: f}
	var err error
	c.original, err = o.original(ctx, t.Located())
	return c, err
}

// original returns the registration whose columns the domains of a Delta id belong to: the
// first one. The others are copies, which may be in workspaces of other people.
func (o Service) original(ctx context.Context, t catalog.LocatedTable) (catalog.LocatedTable, error) {
	found, err := o.Tables.Registered(authz.System(ctx, "original of a table"), catalog.SystemViewer(t.Org), "", t.DeltaID)
	if errors.Is(err, catalog.ErrNotFound) { // its id has changed since it was opened
		return t, nil
	}
	return found, err
}

func (c column) copied() bool { return c.original.ID != c.located().ID }

// shows reports whether the caller sees columns of the original, by their physical names,
// with their values. In a copy, columns may have other names and so other policies.
func (o Service) shows(ctx context.Context, c column, columns ...string) (bool, error) {
	located, err := o.Store.Table(ctx, c.actor.Viewer, c.original.ID)
	if err != nil {
		return false, unlessGone(err)
	}
	t, err := o.Tables.Open(ctx, c.actor, access.Ref{Table: &located})
	if err != nil {
		return false, unlessGone(err)
	}
	for _, physical := range columns {
		if f, ok := fieldByPhysical(t, physical); physical != "" && (!ok || t.Masks(f.Name)) {
			return false, nil
		}
	}
	return true, nil
}

// located returns the table's record in the catalog.
func (c column) located() catalog.LocatedTable { return c.table.Located() }

// masked reports whether the caller does not see the values of the column as they are.
func (c column) masked() bool { return c.table.Masks(c.field.Name) }

// domain returns the domain of the column, or catalog.ErrNotFound, or [ErrDeleted]. The column
// of a copy has none for callers who do not see that of the original.
func (o Service) domain(ctx context.Context, c column) (none catalog.ColumnDomain, err error) {
	domains, err := o.Store.TableDomains(ctx, c.actor.Org, c.located().DeltaID)
	if err != nil {
		return none, err
	}
	d, err := find(domains, c.table.FileName(c.field))
	if err == nil && c.copied() {
		var seen bool
		if seen, err = o.shows(ctx, c, d.Column, d.Parent); err == nil && !seen {
			err = catalog.ErrNotFound
		}
	}
	if err == nil && d.Deleted() {
		err = ErrDeleted
	}
	return d, err
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

// requireWhole refuses what only callers who see all of a table may do.
func requireWhole(t access.Table) error {
	if !t.Whole() {
		return access.ErrRowsFiltered
	}
	return nil
}

// requireUnmasked refuses to change or compare values of a masked column.
func (c column) requireUnmasked(field string) error {
	if c.masked() {
		return fault.Invalid(field, query.MaskedColumn)
	}
	return nil
}
