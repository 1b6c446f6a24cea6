package domain

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/engine/delta"
	rules "github.com/lakewarden/lakewarden/engine/domain"
)

// valued is a domain whose values a caller changes.
type valued struct {
	actor  caller.Identity
	domain catalog.Domain
	target catalog.DomainTarget
	// values are those of a version of the domain.
	values []catalog.DomainValue
	// uses are the columns that the domain restricts: one, unless it is shared.
	uses []use
	// column is the column that owns the domain; nil for a shared one.
	column *column
}

// use is a column that a domain restricts, as the server sees it.
type use struct {
	catalog.ColumnDomain
	located catalog.LocatedTable
	// value and parent are the columns; parent is the zero value outside hierarchies.
	value, parent delta.Field
	// door is the table for the caller, if seen reports that the caller sees the column. whole
	// reports that it sees all of the table.
	door        access.Changeable
	seen, whole bool
	// server is the table for the server.
	server access.SystemTable
}

// ofColumn opens the domain of a column for changes of its values.
func (o Service) ofColumn(ctx context.Context, path access.Path, name string) (valued, error) {
	c, err := o.openForChange(ctx, path, name)
	if err != nil {
		return valued{}, err
	}
	d, err := o.domain(ctx, c.column)
	switch {
	case err != nil:
		return valued{}, err
	case d.Domain.Shared():
		return valued{}, ErrShared
	}
	if err := c.requireUnmasked("column_name"); err != nil {
		return valued{}, err
	}
	u := use{ColumnDomain: d, located: c.located(), value: c.field, door: c.door, seen: true, whole: c.table.Whole()}
	if d.Parent != "" {
		parent, ok := fieldByPhysical(c.table, d.Parent)
		if !ok || c.table.Masks(parent.Name) {
			return valued{}, access.ErrRowsFiltered
		}
		u.parent = parent
	}
	v := valued{actor: c.actor, domain: d.Domain, uses: []use{u}, column: &c.column, target: catalog.DomainTarget{
		Org: c.actor.Org, Viewer: c.actor.Viewer, Table: c.located().ID, Domain: d.Domain.ID, Uses: []catalog.ColumnDomain{d},
	}}
	return o.withValues(ctx, v)
}

// ofShared opens a shared domain for changes of its values.
func (o Service) ofShared(ctx context.Context, org catalog.OrgID, id catalog.DomainID) (valued, error) {
	if err := o.Confirmed(); err != nil {
		return valued{}, err
	}
	a, err := caller.In(ctx, org)
	if err != nil {
		return valued{}, err
	}
	d, err := o.Store.Domain(ctx, org, id)
	if err != nil {
		return valued{}, err
	}
	v := valued{actor: a, domain: d, target: catalog.DomainTarget{Org: org, Viewer: a.Viewer, Domain: id}}
	if v.uses, v.target.Uses, err = o.usesOf(ctx, a, id); err != nil {
		return v, err
	}
	return o.withValues(ctx, v)
}

func (o Service) withValues(ctx context.Context, v valued) (valued, error) {
	if !v.domain.Listed() {
		return v, ErrKind
	}
	values, err := o.Store.DomainValues(ctx, v.actor.Org, v.domain.ID)
	v.values = values.Values
	return v, err
}

// usesOf returns the columns that use a domain. Columns of tables that do not exist any
// more are left out, because their rows can be neither read nor written. listed are the columns of
// all tables, as the catalog has them.
func (o Service) usesOf(
	ctx context.Context, a caller.Identity, id catalog.DomainID,
) (uses []use, listed []catalog.ColumnDomain, err error) {
	listed, err = o.Store.DomainUses(authz.System(ctx, "uses of a domain"), a.Org, id)
	if err != nil {
		return nil, nil, err
	}
	for _, d := range listed {
		u, err := o.use(ctx, a, d)
		if errors.Is(err, catalog.ErrNotFound) || errors.Is(err, access.ErrTableVanished) || errors.Is(err, access.ErrTableIdentity) {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		uses = append(uses, u)
	}
	return uses, listed, nil
}

func (o Service) use(ctx context.Context, a caller.Identity, d catalog.ColumnDomain) (use, error) {
	u := use{ColumnDomain: d}
	located, err := o.Tables.Registered(authz.System(ctx, "uses of a domain"), catalog.SystemViewer(a.Org), "", d.Table)
	if err != nil {
		return u, err
	}
	u.located = located
	if u.server, err = o.Tables.OpenUnfiltered(ctx, located); err != nil {
		return u, err
	}
	var ok bool
	if u.value, ok = fieldByPhysical(u.server.AsSeen(), d.Column); !ok {
		return u, catalog.ErrNotFound
	}
	if u.parent, ok = fieldByPhysical(u.server.AsSeen(), d.Parent); !ok && d.Parent != "" {
		return u, catalog.ErrNotFound
	}
	// A copy that the caller sees is not the table whose rows a change rewrites.
	if mine, err := o.Tables.Registered(ctx, a.Viewer, "", d.Table); err == nil && mine.ID == u.located.ID {
		door, err := o.Tables.OpenChangeable(ctx, a, access.Ref{Table: &mine})
		u.door, u.seen = door, err == nil && !door.Hides(u.value.Name)
		u.whole = err == nil && door.AsSeen().Whole()
	}
	return u, nil
}

// errUnseen refuses changes of a domain of a column that the caller does not see.
var errUnseen = &catalog.DeniedError{Reason: "unseen_dependants"}

// wholeTable returns the table of a column for a change of a value in all its rows. Each column
// of a shared domain is judged like one with a domain of its own. The caller needs scopes where
// the table is. Errors: catalog.DeniedError, access.ErrPartlyVisible.
func (o Service) wholeTable(ctx context.Context, a caller.Identity, u use, scopes ...auth.Scope) (whole access.WholeTable, err error) {
	if !u.seen {
		return whole, errUnseen
	}
	for _, scope := range scopes {
		if err := o.Tables.Permit(ctx, a, u.located.Config, scope); err != nil {
			return whole, err
		}
	}
	return u.door.Whole(ctx)
}

// judgeWhole judges the caller for a change of a value in the rows of all columns.
func (o Service) judgeWhole(ctx context.Context, v valued, scopes ...auth.Scope) error {
	for _, u := range v.uses {
		if _, err := o.wholeTable(ctx, v.actor, u, scopes...); err != nil {
			return err
		}
	}
	return nil
}

// judgeDescription judges the caller for a change that widens or describes a domain. If a
// policy reads one of its columns, that is a change of the whole table.
func (v valued) judgeDescription(ctx context.Context) error {
	for _, u := range v.uses {
		concerns := named(u.value, u.parent)
		if u.seen {
			if _, err := u.door.ForColumns(ctx, concerns); err != nil {
				return err
			}
			continue
		}
		if read, err := u.server.PolicyReads(ctx, concerns); err != nil || read {
			return errors.Join(err, errUnseen)
		}
	}
	return nil
}

// named selects columns by their names.
func named(fields ...delta.Field) func(column string) bool {
	return func(column string) bool {
		return slices.ContainsFunc(fields, func(f delta.Field) bool { return strings.EqualFold(f.Name, column) })
	}
}

// find returns a value of the domain by its id.
func (v valued) find(id catalog.ValueID) (catalog.DomainValue, error) {
	for _, value := range v.values {
		if value.ID == id {
			return value, nil
		}
	}
	return catalog.DomainValue{}, catalog.ErrNotFound
}

// isParent reports whether a value is one of the parent column.
func (v valued) isParent(value catalog.DomainValue) bool {
	return v.domain.Kind == catalog.DomainHierarchical && value.Parent == ""
}

// canonical returns the canonical text of a new value, which every column of the domain
// must be able to hold in the same form.
func (v valued) canonical(field, text string, parent bool) (string, error) {
	out, err := oneValue(nil, field, text)
	for i, u := range v.uses {
		t := u.value.Type
		if parent {
			t = u.parent.Type
		}
		var here string
		if here, err = oneValue(t, field, text); err != nil {
			return "", err
		}
		if i > 0 && here != out || v.domain.Shared() && here != text {
			return "", fault.Invalid(field, "must be written as the columns of the domain write it: 42, not 042")
		}
		out = here
	}
	return out, err
}

// suits returns the values of a shared domain for a column.
func (o Service) suits(ctx context.Context, c column, parent delta.Field, d catalog.Domain) ([]catalog.DomainValue, error) {
	var values []catalog.DomainValue
	if d.Listed() {
		listed, err := o.Store.DomainValues(ctx, c.actor.Org, d.ID)
		if err != nil {
			return nil, err
		}
		values = listed.Values
	}
	misfit, err := o.suitsContent(ctx, c, parent, d.DomainSpec, recreated(values))
	if misfit != "" {
		err = fault.Invalid("domain_id", "has %s that are not written as the column writes them: 42, not 042", misfit)
	}
	return values, err
}

// What a column may write in another way than a shared domain.
const (
	misfitBounds = "bounds"
	misfitValues = "values"
)

// suitsContent checks that a column can have the content of a shared domain. misfit says
// whether bounds or values are not the canonical texts of the column's type; err may then
// say what is wrong with a bound.
func (o Service) suitsContent(
	ctx context.Context, c column, parent delta.Field, spec catalog.DomainSpec, values []catalog.NewDomainValue,
) (misfit string, err error) {
	switch {
	case spec.Range != nil:
		if !rules.Bounded(c.field.Type) {
			return "", unsupported(c, "range")
		}
		bounds, err := boundsOf(c.field.Type, *spec.Range)
		if err != nil || bounds != *spec.Range {
			return misfitBounds, err
		}
		return "", nil
	case !rules.Listable(c.field.Type):
		return "", unsupported(c, "list of values")
	case spec.Source != nil:
		return "", o.suitsSource(ctx, c, parent, *spec.Source)
	}
	for _, v := range values {
		t := c.field.Type
		if spec.Kind == catalog.DomainHierarchical && v.Parent == "" {
			t = parent.Type
		}
		if text, message := canonical(t, v.Value); message != "" || text != v.Value {
			return misfitValues, nil
		}
	}
	return "", nil
}

// suitsSource checks the table of a shared domain as if the column got it as its own.
func (o Service) suitsSource(ctx context.Context, c column, parent delta.Field, s catalog.DomainSource) error {
	located, err := o.Tables.Registered(ctx, c.actor.Viewer, s.Config, s.Table)
	if errors.Is(err, catalog.ErrNotFound) {
		return notShared()
	}
	if err != nil {
		return err
	}
	t, err := o.Tables.Open(ctx, c.actor, access.Ref{Table: &located, Rows: true})
	if err == nil {
		err = requireWhole(t)
	}
	if err != nil {
		return err
	}
	if err := o.checkShared(ctx, c, located); err != nil {
		return err
	}
	value, ok := fieldByPhysical(t, s.Column)
	if !ok || !rules.Comparable(c.field.Type, value.Type) {
		return fault.Invalid("domain_id", "takes its values from a column of another type")
	}
	if s.ParentKey == "" {
		return nil
	}
	key, ok := fieldByPhysical(t, s.ParentKey)
	if !ok || !rules.Comparable(parent.Type, key.Type) {
		return fault.Invalid("domain_id", "takes its parents from a column of another type")
	}
	return nil
}
