package domain

import (
	"context"
	"errors"
	"strconv"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine/delta"
	rules "github.com/lakewarden/lakewarden/engine/domain"
)

// Place is the column that gets a domain.
type Place struct {
	Table  access.Path
	Column string
	// EnforceExisting refuses a domain if existing rows are outside.
	EnforceExisting bool
}

// Value is a value of a domain as a caller gives it.
type Value struct{ Value, Label, Description string }

// Parent is a value of the parent column with its children.
type Parent struct {
	Value
	Children []Value
}

// SetFixed gives a column a list of values. Errors: access.ErrPartlyVisible,
// catalog.FieldErrors with fields values[<i>], [OutsideError], write.ErrWritesInProgress, catalog.ErrValueChange, and
// those of opening a table.
func (o Service) SetFixed(ctx context.Context, at Place, values []Value) (Described, error) {
	c, err := o.settable(ctx, at)
	if err != nil {
		return Described{}, err
	}
	if !rules.Listable(c.field.Type) {
		return Described{}, unsupported(c.column, "list of values")
	}
	checked, err := valuesOf(c.field.Type, "values", values)
	if err != nil {
		return Described{}, err
	}
	return o.setOwn(ctx, at, c, "", catalog.NewDomain{
		DomainSpec: catalog.DomainSpec{Kind: catalog.DomainFixed}, Values: checked,
	})
}

// SetInline gives a column lists of values, one for each value of a parent column. Errors
// are those of [Service.SetFixed], with fields parents[<i>].
func (o Service) SetInline(ctx context.Context, at Place, parentColumn string, parents []Parent) (Described, error) {
	c, err := o.settable(ctx, at)
	if err != nil {
		return Described{}, err
	}
	parent, err := c.parent(parentColumn)
	if err != nil {
		return Described{}, err
	}
	values, err := hierarchyOf(parent.Type, c.field.Type, parents)
	if err != nil {
		return Described{}, err
	}
	return o.setOwn(ctx, at, c, c.table.FileName(parent), catalog.NewDomain{
		DomainSpec: catalog.DomainSpec{Kind: catalog.DomainHierarchical}, Values: values,
	})
}

// SetRange bounds the values of a column. Errors are those of [Service.SetFixed], with
// fields min and max.
func (o Service) SetRange(ctx context.Context, at Place, bounds catalog.DomainRangeBounds) (Described, error) {
	c, err := o.settable(ctx, at)
	if err != nil {
		return Described{}, err
	}
	if !rules.Bounded(c.field.Type) {
		return Described{}, unsupported(c.column, "range")
	}
	if bounds, err = boundsOf(c.field.Type, bounds); err != nil {
		return Described{}, err
	}
	return o.setOwn(ctx, at, c, "", catalog.NewDomain{
		DomainSpec: catalog.DomainSpec{Kind: catalog.DomainRange, Range: &bounds},
	})
}

// SourceInput names the columns of a table that a domain takes its values from.
type SourceInput struct {
	TableName, TablePath string
	Column               string
	// ParentKey is the column with the parents of a lookup.
	ParentKey string
}

// SetReference gives a column the values of a column of another table. Errors are those
// of [Service.SetFixed], access.ErrRowsFiltered for a table of which the caller does not
// see everything, and those with the codes reference_not_shared and domain_cycle.
func (o Service) SetReference(ctx context.Context, at Place, in SourceInput) (Described, error) {
	c, err := o.settable(ctx, at)
	if err != nil {
		return Described{}, err
	}
	if !rules.Listable(c.field.Type) {
		return Described{}, unsupported(c.column, "list of values")
	}
	s, err := o.newSource(ctx, c.column, in)
	if err != nil {
		return Described{}, err
	}
	source, err := s.column("column", in.Column, c.field.Type)
	if err != nil {
		return Described{}, err
	}
	return o.setOwn(ctx, at, c, "", catalog.NewDomain{DomainSpec: catalog.DomainSpec{
		Kind: catalog.DomainReference, Source: s.domainSource(source, ""),
	}})
}

// SetLookup gives a column the values that another table has for the value of a parent
// column. Errors are those of [Service.SetReference].
func (o Service) SetLookup(ctx context.Context, at Place, parentColumn string, in SourceInput) (Described, error) {
	c, err := o.settable(ctx, at)
	if err != nil {
		return Described{}, err
	}
	parent, err := c.parent(parentColumn)
	if err != nil {
		return Described{}, err
	}
	s, err := o.newSource(ctx, c.column, in)
	if err != nil {
		return Described{}, err
	}
	child, err := s.column("child_key", in.Column, c.field.Type)
	if err != nil {
		return Described{}, err
	}
	key, err := s.column("parent_key", in.ParentKey, parent.Type)
	if err != nil {
		return Described{}, err
	}
	if key == child {
		return Described{}, fault.Invalid("parent_key", "must be another column than child_key")
	}
	return o.setOwn(ctx, at, c, c.table.FileName(parent), catalog.NewDomain{DomainSpec: catalog.DomainSpec{
		Kind: catalog.DomainHierarchical, Source: s.domainSource(child, key),
	}})
}

// SetShared gives a column a shared domain. Errors are those of the other kinds.
func (o Service) SetShared(ctx context.Context, at Place, id catalog.DomainID, parentColumn string) (Described, error) {
	c, err := o.settable(ctx, at)
	if err != nil {
		return Described{}, err
	}
	shared, err := o.Store.Domain(ctx, c.actor.Org, id)
	if errors.Is(err, catalog.ErrNotFound) {
		return Described{}, fault.Invalid("domain_id", "is not a shared domain")
	}
	if err != nil {
		return Described{}, err
	}
	p := proposal{}
	p.Column, p.Domain = c.table.FileName(c.field), shared
	var parent delta.Field
	switch {
	case shared.Kind == catalog.DomainHierarchical:
		if parent, err = c.parent(parentColumn); err != nil {
			return Described{}, err
		}
		p.Parent = c.table.FileName(parent)
	case parentColumn != "":
		return Described{}, fault.Invalid("parent_column", "is for hierarchical domains")
	}
	if p.values, err = o.suits(ctx, c.column, parent, shared); err != nil {
		return Described{}, err
	}
	return o.set(ctx, at, c, p, func(at catalog.ColumnDomainAt) (catalog.ColumnDomain, error) {
		return o.Store.UseDomain(ctx, c.actor.Viewer, c.located().ID, at, id, c.actor.User)
	})
}

// settable is a column that may get a domain.
type settable struct {
	column
	whole access.WholeTable
}

// settable opens a column that the caller may give a domain: all rows must satisfy it, so that
// is a change of the whole table.
func (o Service) settable(ctx context.Context, at Place) (settable, error) {
	c, err := o.openForChange(ctx, at.Table, at.Column)
	if err != nil {
		return settable{}, err
	}
	whole, err := c.door.Whole(ctx)
	if err == nil {
		err = c.requireUnmasked("column_name")
	}
	return settable{c.column, whole}, err
}

// unsupported refuses a column whose type cannot have a domain.
func unsupported(c column, what string) error {
	return &fault.MemberError{Code: "type_not_supported", Problems: catalog.FieldErrors{
		{Field: "column_name", Message: "a column of type " + c.field.Type.String() + " cannot have a " + what},
	}}
}

// setOwn gives a column a domain of its own.
func (o Service) setOwn(ctx context.Context, at Place, c settable, parent string, content catalog.NewDomain) (Described, error) {
	p := proposal{values: numbered(content.Values)}
	p.Column, p.Parent, p.Domain.DomainSpec = c.table.FileName(c.field), parent, content.DomainSpec
	return o.set(ctx, at, c, p, func(at catalog.ColumnDomainAt) (catalog.ColumnDomain, error) {
		return o.Store.SetColumnDomain(ctx, c.actor.Viewer, c.located().ID, at, content, c.actor.User)
	})
}

// numbered returns values that are to be created, with ids that connect children with
// their parents.
func numbered(values []catalog.NewDomainValue) []catalog.DomainValue {
	out, parents := make([]catalog.DomainValue, len(values)), map[string]catalog.ValueID{}
	for i, v := range values {
		out[i] = catalog.DomainValue{ID: catalog.ValueID(strconv.Itoa(i)), Parent: parents[v.Parent], Value: v.Value}
		if v.Parent == "" {
			parents[v.Value] = out[i].ID
		}
	}
	return out
}

// set changes the domain of a column, waits for the writes that were checked before the
// change, and then reads the rows. A domain that is to be enforced on existing rows is
// refused if rows are outside; the change is undone if such a write brought them.
func (o Service) set(
	ctx context.Context, at Place, c settable, p proposal, change func(catalog.ColumnDomainAt) (catalog.ColumnDomain, error),
) (Described, error) {
	if at.EnforceExisting {
		outside, err := o.outside(ctx, c.column, p)
		if err != nil {
			return Described{}, err
		}
		if outside.Rows > 0 {
			return Described{}, &OutsideError{Rows: outside.Rows}
		}
	}
	before, d, err := o.exchange(ctx, c, p, change)
	if err != nil {
		return Described{}, err
	}
	var outside Outside
	if err = o.settle(ctx, c.actor.Org, c.located().DeltaID); err == nil {
		outside, err = o.outside(ctx, c.column, p)
	}
	if err == nil && at.EnforceExisting && outside.Rows > 0 {
		err = &OutsideError{Rows: outside.Rows}
	}
	if err != nil {
		return Described{}, errors.Join(err, o.undo(ctx, c.column, d, before))
	}
	out, err := o.described(ctx, c.column, d)
	if outside.Data {
		out.Outside = &outside
	}
	return out, err
}

// maxExchanges bounds the repetitions of a change that others interrupt.
const maxExchanges = 10

// exchange changes the domain of a column, and returns the domain that it replaced and the
// new one. If another request changes the domain in between, it starts again: an undo must
// not bring back a domain that was replaced before.
func (o Service) exchange(
	ctx context.Context, c settable, p proposal, change func(catalog.ColumnDomainAt) (catalog.ColumnDomain, error),
) (before previous, d catalog.ColumnDomain, err error) {
	for range maxExchanges {
		if err = c.whole.Judge(ctx); err != nil { // the rows may have been read since it was judged
			return before, d, err
		}
		if before, err = o.previous(ctx, c.column); err != nil {
			return before, d, err
		}
		d, err = change(catalog.ColumnDomainAt{
			Column: p.Column, Parent: p.Parent,
			ExpectNone: before.none, Expected: before.domain.Domain.ID, ExpectedVersion: before.domain.Domain.Version,
		})
		if !errors.Is(err, catalog.ErrVersionConflict) {
			break
		}
	}
	return before, d, changeError(err)
}

// changeError returns the errors of the catalog as those of this package.
func changeError(err error) error {
	if errors.Is(err, catalog.ErrDomainKind) {
		return ErrKind
	}
	return err
}
