package domain

import (
	"context"
	"errors"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

// Shared is a shared domain as a caller may see it.
type Shared struct {
	catalog.Domain
	Values   []catalog.DomainValue
	Children map[catalog.ValueID][]catalog.DomainValue
	Source   *Source
	// Dependants are the columns that use it and that the caller sees, Others is the
	// number of the rest. They and the values are set for a single domain only.
	Dependants []Dependant
	Others     int
}

// Dependant is a column that uses a shared domain.
type Dependant struct {
	FQN, Table string
	ID         catalog.DeltaID
	Column     string
	// Outside is set by [Service.ReplaceShared] for a column with data.
	Outside *Outside
}

// detail is how much of a shared domain is described.
type detail int

const (
	contentOnly detail = iota // no values and no dependants
	withDependants
	withOutside // the dependants with the rows that lie outside
)

// SharedInput is the content of a shared domain. Which members are set depends on Kind.
type SharedInput struct {
	Name, Description string
	Kind              catalog.DomainKind
	Values            []Value
	Parents           []Parent
	Range             *catalog.DomainRangeBounds
	Source            *SourceInput
}

// CreateShared creates a shared domain. Errors: catalog.ErrExists with field name,
// catalog.FieldErrors, access.ErrRowsFiltered.
func (o Service) CreateShared(ctx context.Context, org catalog.OrgID, in SharedInput) (Shared, error) {
	a, err := caller.In(ctx, org)
	if err != nil {
		return Shared{}, err
	}
	content, err := o.content(ctx, a, in)
	if err != nil {
		return Shared{}, err
	}
	d, err := o.Store.CreateDomain(ctx, org, content, a.User)
	if err != nil {
		return Shared{}, changeError(err)
	}
	return o.shared(ctx, a, d, withDependants)
}

// Shared returns a shared domain with its dependants.
func (o Service) Shared(ctx context.Context, org catalog.OrgID, id catalog.DomainID) (Shared, error) {
	a, err := caller.In(ctx, org)
	if err != nil {
		return Shared{}, err
	}
	d, err := o.Store.Domain(ctx, org, id)
	if err != nil {
		return Shared{}, err
	}
	return o.shared(ctx, a, d, withDependants)
}

// ListShared lists the shared domains by name, without values and dependants.
func (o Service) ListShared(ctx context.Context, org catalog.OrgID, page catalog.Page) (catalog.List[Shared], error) {
	a, err := caller.In(ctx, org)
	if err != nil {
		return catalog.List[Shared]{}, err
	}
	list, err := o.Store.ListDomains(ctx, org, page)
	if err != nil {
		return catalog.List[Shared]{}, err
	}
	out := catalog.List[Shared]{Items: make([]Shared, len(list.Items)), Next: list.Next}
	for i, d := range list.Items {
		if out.Items[i], err = o.shared(ctx, a, d, contentOnly); err != nil {
			return out, err
		}
	}
	return out, nil
}

// ReplaceShared replaces the content of a shared domain. Existing rows may lie outside
// afterwards: after the writes that were checked before the change, it looks for them in
// every column that uses the domain. While columns do, the caller needs the right to change
// the whole table of each. Errors: those of [Service.CreateShared], catalog.DeniedError,
// [ErrKind], catalog.ErrVersionConflict, and write.ErrWritesInProgress, after which the
// domain is as before.
func (o Service) ReplaceShared(
	ctx context.Context, org catalog.OrgID, id catalog.DomainID, expected int64, in SharedInput,
) (Shared, error) {
	a, err := caller.In(ctx, org)
	if err != nil {
		return Shared{}, err
	}
	before, err := o.previousShared(ctx, org, id)
	if err != nil {
		return Shared{}, err
	}
	content, err := o.content(ctx, a, in)
	if err != nil {
		return Shared{}, err
	}
	uses, listed, err := o.usesOf(ctx, a, id)
	if err != nil {
		return Shared{}, err
	}
	for _, u := range uses {
		if _, err := o.wholeTable(ctx, a, u, auth.ScopeDomainsWrite, auth.ScopeRowsUpdate); err != nil {
			return Shared{}, err
		}
		if err := o.replaces(ctx, a, u, content); err != nil {
			return Shared{}, err
		}
	}
	d, err := o.Store.ReplaceDomain(ctx, catalog.DomainTarget{Org: org, Domain: id, ExpectedVersion: expected, Uses: listed}, content)
	if err != nil {
		return Shared{}, changeError(err)
	}
	var out Shared
	if err = o.settleUses(ctx, org, uses); err == nil {
		out, err = o.shared(ctx, a, d, withOutside)
	}
	if err != nil {
		return Shared{}, errors.Join(err, o.undoShared(ctx, d, before))
	}
	return out, nil
}

// DeleteShared removes a shared domain that no column uses. Errors:
// catalog.ErrDomainInUse, catalog.ErrVersionConflict.
func (o Service) DeleteShared(ctx context.Context, org catalog.OrgID, id catalog.DomainID, expected int64) error {
	a, err := caller.In(ctx, org)
	if err != nil {
		return err
	}
	return o.Store.DeleteDomain(ctx, a.Org, id, expected)
}

// content checks the content of a shared domain. Its values are texts until a column uses
// it.
func (o Service) content(ctx context.Context, a caller.Identity, in SharedInput) (catalog.NewDomain, error) {
	out := catalog.NewDomain{Name: in.Name, Description: in.Description, DomainSpec: catalog.DomainSpec{Kind: in.Kind}}
	var err error
	switch {
	case in.Kind == catalog.DomainFixed:
		out.Values, err = valuesOf(nil, "values", in.Values)
	case in.Kind == catalog.DomainRange && in.Range != nil:
		out.Range = in.Range
	case in.Kind == catalog.DomainRange:
		err = fault.Invalid("range", "is required for this type")
	case in.Source != nil:
		out.Source, err = o.sharedSource(ctx, a, in)
	case in.Kind == catalog.DomainReference:
		err = fault.Invalid("reference_source", "is required for this type")
	case in.Kind == catalog.DomainHierarchical:
		out.Values, err = hierarchyOf(nil, nil, in.Parents)
	default:
		err = fault.Invalid("type", "must be fixed, hierarchical, reference or range")
	}
	return out, err
}

func (o Service) sharedSource(ctx context.Context, a caller.Identity, in SharedInput) (*catalog.DomainSource, error) {
	s, err := o.openSource(ctx, a, *in.Source, catalog.StorageConfig{})
	if err != nil {
		return nil, err
	}
	if in.Kind == catalog.DomainReference {
		value, err := s.column("column", in.Source.Column, nil)
		return s.domainSource(value, ""), err
	}
	child, err := s.column("child_key", in.Source.Column, nil)
	if err != nil {
		return nil, err
	}
	key, err := s.column("parent_key", in.Source.ParentKey, nil)
	if err == nil && key == child {
		err = fault.Invalid("parent_key", "must be another column than child_key")
	}
	return s.domainSource(child, key), err
}

// replaces checks that a column that uses a shared domain can have its new content.
func (o Service) replaces(ctx context.Context, a caller.Identity, u use, content catalog.NewDomain) error {
	t, err := o.Tables.Open(ctx, a, access.Ref{Table: &u.located})
	if err != nil {
		return err
	}
	c := column{actor: a, table: t, field: u.value}
	if content.Kind != u.Domain.Kind {
		return ErrKind
	}
	misfit, err := o.suitsContent(ctx, c, u.parent, content.DomainSpec, content.Values)
	switch {
	case err != nil:
	case misfit == misfitBounds:
		err = fault.Invalid("range", "must be written as the columns of the domain write it: 42, not 042")
	case misfit == misfitValues:
		err = fault.Invalid("values", "must be written as the columns of the domain write them: 42, not 042")
	}
	return err
}

// shared describes a shared domain. A list of many has neither values nor dependants.
func (o Service) shared(ctx context.Context, a caller.Identity, d catalog.Domain, more detail) (Shared, error) {
	out := Shared{Domain: d, Dependants: []Dependant{}}
	var values []catalog.DomainValue
	if d.Listed() && more != contentOnly {
		listed, err := o.Store.DomainValues(ctx, a.Org, d.ID)
		if err != nil {
			return out, err
		}
		values = listed.Values
		out.Values, out.Children = arranged(d.Kind, values)
	}
	if d.Source != nil {
		if err := o.describeSource(ctx, a, d, &out); err != nil {
			return out, err
		}
	}
	if more == contentOnly {
		return out, nil
	}
	uses, err := o.Store.DomainUses(ctx, a.Org, d.ID)
	if err != nil {
		return out, err
	}
	for _, u := range uses {
		c, err := o.dependant(ctx, a, u)
		if err != nil {
			return out, err
		}
		if c == nil {
			out.Others++
			continue
		}
		located := c.located()
		seen := Dependant{FQN: located.FQN(), Table: located.Name, ID: located.DeltaID, Column: c.field.Name}
		if more == withOutside {
			if seen.Outside, err = o.outsideDependant(ctx, *c, proposal{u, values}); err != nil {
				return out, err
			}
		}
		out.Dependants = append(out.Dependants, seen)
	}
	return out, nil
}

// dependant returns a column that uses a domain, or nil if the caller does not see it.
func (o Service) dependant(ctx context.Context, a caller.Identity, u catalog.ColumnDomain) (*column, error) {
	located, err := o.Tables.Registered(ctx, a.Viewer, "", u.Table)
	if err != nil {
		return nil, unlessGone(err)
	}
	if original, err := o.original(ctx, located); err != nil || original.ID != located.ID {
		return nil, err // a copy
	}
	t, err := o.Tables.Open(ctx, a, access.Ref{Table: &located})
	if err != nil {
		return nil, unlessGone(err)
	}
	f, ok := fieldByPhysical(t, u.Column)
	if !ok {
		return nil, nil
	}
	return &column{actor: a, table: t, field: f}, nil
}

// outsideDependant returns the rows of a column that lie outside a domain, or nil if the
// caller sees no values of it, or masked ones.
func (o Service) outsideDependant(ctx context.Context, c column, d proposal) (*Outside, error) {
	parent, seen := fieldByPhysical(c.table, d.Parent)
	if c.masked() || d.Parent != "" && (!seen || c.table.Masks(parent.Name)) {
		return nil, nil
	}
	outside, err := o.outside(ctx, c, d)
	if err != nil || !outside.Data {
		return nil, err
	}
	return &outside, nil
}

// describeSource adds the table of the values.
func (o Service) describeSource(ctx context.Context, a caller.Identity, d catalog.Domain, out *Shared) error {
	s, _, err := o.seenSource(ctx, a, *d.Source)
	out.Source = &s
	return err
}
