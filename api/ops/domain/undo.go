package domain

import (
	"context"
	"errors"

	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/catalog"
)

// previous is the domain that a column had before a domain was set.
type previous struct {
	domain catalog.ColumnDomain
	values []catalog.DomainValue
	// none reports that the column had no domain.
	none bool
}

// previous returns the domain that a column has, seen by the caller or not, with its values
// if they are its own.
func (o Service) previous(ctx context.Context, c column) (previous, error) {
	domains, err := o.Store.TableDomains(ctx, c.actor.Org, c.located().DeltaID)
	if err != nil {
		return previous{}, err
	}
	d, err := find(domains, c.table.FileName(c.field))
	if errors.Is(err, catalog.ErrNotFound) {
		return previous{none: true}, nil
	}
	if err != nil || d.Domain.Shared() || !d.Domain.Listed() {
		return previous{domain: d}, err
	}
	values, err := o.Store.DomainValues(ctx, c.actor.Org, d.Domain.ID)
	return previous{domain: d, values: values.Values}, err
}

// undo restores the previous domain of a column after d was set, with the ids of its
// values. A domain that was changed since then remains.
func (o Service) undo(ctx context.Context, c column, d catalog.ColumnDomain, p previous) error {
	ctx, cancel := caller.CleanupContext(ctx)
	defer cancel()
	at := catalog.ColumnDomainAt{Column: d.Column, Parent: p.domain.Parent, Expected: d.Domain.ID, ExpectedVersion: d.Domain.Version}
	table, viewer := c.located().ID, c.actor.Viewer
	var err error
	switch {
	case p.none:
		err = o.Store.RemoveColumnDomain(ctx, viewer, table, at)
	case p.domain.Domain.Shared(), p.domain.Deleted():
		_, err = o.Store.UseDomain(ctx, viewer, table, at, p.domain.Domain.ID, c.actor.User)
	default:
		_, err = o.Store.SetColumnDomain(ctx, viewer, table, at, catalog.NewDomain{
			DomainSpec: p.domain.Domain.DomainSpec, Values: recreated(p.values),
		}, c.actor.User)
	}
	if errors.Is(err, catalog.ErrVersionConflict) || errors.Is(err, catalog.ErrNotFound) {
		return nil
	}
	return err
}

// previousShared returns a shared domain as it is before a change.
func (o Service) previousShared(ctx context.Context, org catalog.OrgID, id catalog.DomainID) (catalog.NewDomain, error) {
	d, err := o.Store.Domain(ctx, org, id)
	if err != nil {
		return catalog.NewDomain{}, err
	}
	out := catalog.NewDomain{Name: d.Name, Description: d.Description, DomainSpec: d.DomainSpec}
	if d.Listed() {
		values, err := o.Store.DomainValues(ctx, org, id)
		if err != nil {
			return out, err
		}
		out.Values = recreated(values.Values)
	}
	return out, nil
}

// undoShared gives a shared domain the content that it had before it became d. A domain
// that was changed since then stays.
func (o Service) undoShared(ctx context.Context, d catalog.Domain, f catalog.NewDomain) error {
	ctx, cancel := caller.CleanupContext(ctx)
	defer cancel()
	_, err := o.Store.ReplaceDomain(ctx, catalog.DomainTarget{Org: d.Org, Domain: d.ID, ExpectedVersion: d.Version}, f)
	if errors.Is(err, catalog.ErrVersionConflict) || errors.Is(err, catalog.ErrNotFound) {
		return nil
	}
	return err
}

// recreated returns existing values as values to be created with the same ids, parents
// first.
func recreated(values []catalog.DomainValue) []catalog.NewDomainValue {
	texts := map[catalog.ValueID]string{}
	for _, v := range values {
		texts[v.ID] = v.Value
	}
	out := make([]catalog.NewDomainValue, len(values))
	for i, v := range values {
		out[i] = catalog.NewDomainValue{ID: v.ID, Parent: texts[v.Parent], Value: v.Value, Label: v.Label, Description: v.Description}
	}
	return out
}
