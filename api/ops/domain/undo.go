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

// previous returns the domain that a column has, with its values if they are its own.
func (o Service) previous(ctx context.Context, c column) (previous, error) {
	d, err := o.domain(ctx, c)
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
	case p.domain.Domain.Shared():
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
