package domain

import (
	"context"
	"errors"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/catalog"
)

// Described is a domain of a column as a caller may see it.
type Described struct {
	Column string
	Kind   catalog.DomainKind
	// Shared is set for a shared domain.
	Shared *SharedName
	// Values holds the values of a fixed domain and the parents of a hierarchical one; nil
	// if the catalog does not have them, or if the caller must not see them.
	Values []catalog.DomainValue
	// Children holds the children by parent. It is nil as Values is.
	Children map[catalog.ValueID][]catalog.DomainValue
	// Parent is the parent column; empty if there is none or if it is hidden.
	Parent string
	Source *Source
	Range  *catalog.DomainRangeBounds
	// Skipped holds the parents of a lookup that are not used: NULL, blank, or outside the
	// domain of the parent column.
	Skipped []*string
	// Outside is set by operations that set a domain on a column with rows.
	Outside *Outside
}

// SharedName identifies a shared domain.
type SharedName struct {
	ID   catalog.DomainID
	Name string
}

// Source is the table that a domain takes its values from, as a caller may see it.
type Source struct {
	Table catalog.DeltaID
	// FQN, Name and the columns are empty for a table or column that the caller does not
	// see.
	FQN, Name         string
	Column, ParentKey string
}

// Get returns the domain of a column. Errors: catalog.ErrNotFound for a column that has
// none or is hidden, [ErrDeleted], those of opening a table.
func (o Service) Get(ctx context.Context, path access.Path, name string) (Described, error) {
	c, err := o.open(ctx, path, name)
	if err != nil {
		return Described{}, err
	}
	d, err := o.domain(ctx, c)
	if err != nil {
		return Described{}, err
	}
	return o.described(ctx, c, d)
}

// Remove removes the domain of a column; a shared domain remains for others. If a policy reads
// the column, that is a change of the whole table. Errors: catalog.ErrNotFound,
// catalog.ErrValueChange, access.ErrPartlyVisible.
func (o Service) Remove(ctx context.Context, path access.Path, name string) error {
	c, err := o.openForChange(ctx, path, name)
	if err != nil {
		return err
	}
	if _, err := c.door.ForColumns(ctx, named(c.field)); err != nil {
		return err
	}
	return o.Store.RemoveColumnDomain(ctx, c.actor.Viewer, c.located().ID, catalog.ColumnDomainAt{Column: c.table.FileName(c.field)})
}

func (o Service) described(ctx context.Context, c column, d catalog.ColumnDomain) (Described, error) {
	out := Described{Column: c.field.Name, Kind: d.Domain.Kind, Range: d.Domain.Range}
	if d.Domain.Shared() {
		out.Shared = &SharedName{ID: d.Domain.ID, Name: d.Domain.Name}
	}
	parent, seen := fieldByPhysical(c.table, d.Parent)
	out.Parent = parent.Name
	// The values of a hidden or masked parent column must not show as parents.
	if concealed := c.masked() || d.Parent != "" && (!seen || c.table.Masks(parent.Name)); concealed {
		if out.Range != nil {
			out.Range = &catalog.DomainRangeBounds{Inclusive: out.Range.Inclusive}
		}
		return out, o.withSource(ctx, c, d, &out, false)
	}
	if d.Domain.Listed() {
		values, err := o.Store.DomainValues(ctx, c.actor.Org, d.Domain.ID)
		if err != nil {
			return Described{}, err
		}
		out.Values, out.Children = arranged(d.Domain.Kind, values.Values)
	}
	return out, o.withSource(ctx, c, d, &out, true)
}

// arranged returns the values of a fixed domain, or parents and children.
func arranged(kind catalog.DomainKind, values []catalog.DomainValue) ([]catalog.DomainValue, map[catalog.ValueID][]catalog.DomainValue) {
	if kind != catalog.DomainHierarchical {
		return append([]catalog.DomainValue{}, values...), nil
	}
	parents, children := []catalog.DomainValue{}, map[catalog.ValueID][]catalog.DomainValue{}
	for _, v := range values {
		if v.Parent == "" {
			parents = append(parents, v)
			children[v.ID] = append([]catalog.DomainValue{}, children[v.ID]...)
		} else {
			children[v.Parent] = append(children[v.Parent], v)
		}
	}
	return parents, children
}

// withSource adds the source of a domain, and the skipped parents of a lookup if values
// may be shown. A source that cannot be opened keeps its id only.
func (o Service) withSource(ctx context.Context, c column, d catalog.ColumnDomain, out *Described, values bool) error {
	if d.Domain.Source == nil {
		return nil
	}
	source, t, err := o.seenSource(ctx, c.actor, *d.Domain.Source)
	out.Source = &source
	if err != nil || t == nil || d.Domain.Kind != catalog.DomainHierarchical || !values {
		return err
	}
	key, ok := fieldByPhysical(*t, d.Domain.Source.ParentKey)
	if !ok || t.Masks(key.Name) {
		return nil
	}
	out.Skipped, err = o.skipped(ctx, c, d, *t, key)
	return err
}

// seenSource returns the source of a domain as the caller sees it, and its table, which is
// nil if it cannot be opened.
func (o Service) seenSource(ctx context.Context, a caller.Identity, s catalog.DomainSource) (Source, *access.Table, error) {
	out := Source{Table: s.Table}
	located, err := o.Tables.Registered(ctx, a.Viewer, s.Config, s.Table)
	if err != nil {
		return out, nil, unlessGone(err)
	}
	out.FQN, out.Name = located.FQN(), located.Name
	t, err := o.Tables.Open(ctx, a, access.Ref{Table: &located, Rows: true})
	if err != nil {
		return out, nil, unlessGone(err)
	}
	value, _ := fieldByPhysical(t, s.Column)
	key, _ := fieldByPhysical(t, s.ParentKey)
	out.Column, out.ParentKey = value.Name, key.Name
	return out, &t, nil
}

// unlessGone drops errors that mean that a table cannot be opened now, for descriptions
// that do without it.
func unlessGone(err error) error {
	var coded interface{ ProblemCode() string }
	if errors.Is(err, catalog.ErrNotFound) || errors.As(err, &coded) {
		return nil
	}
	return err
}
