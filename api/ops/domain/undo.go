package domain

import (
	"context"
	"errors"

	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/catalog"
)

// former is what a column had before its domain was set.
type former struct {
	domain catalog.ColumnDomain
	values []catalog.DomainValue
	none   bool
}

func (o Service) former(ctx context.Context, c column) (former, error) {
	d, err := o.domain(ctx, c)
	if errors.Is(err, catalog.ErrNotFound) {
		return former{none: true}, nil
	}
	if err != nil || d.Domain.Shared() || !d.Domain.Listed() {
		return former{domain: d}, err
	}
	values, err := o.Store.DomainValues(ctx, c.actor.Org, d.Domain.ID)
	return former{domain: d, values: values.Values}, err
}

// undo gives a column what it had before d was set, with the ids of its values. A domain
// that was changed since then stays.
func (o Service) undo(ctx context.Context, c column, d catalog.ColumnDomain, f former) error {
	ctx, cancel := caller.CleanupContext(ctx)
	defer cancel()
	at := catalog.ColumnDomainAt{Column: d.Column, Parent: f.domain.Parent, Expected: d.Domain.ID, ExpectedVersion: d.Domain.Version}
	table, viewer := c.located().ID, c.actor.Viewer
	var err error
	switch {
	case f.none:
		err = o.Store.RemoveColumnDomain(ctx, viewer, table, at)
	case f.domain.Domain.Shared():
		_, err = o.Store.UseDomain(ctx, viewer, table, at, f.domain.Domain.ID, c.actor.User)
	default:
		_, err = o.Store.SetColumnDomain(ctx, viewer, table, at, catalog.NewDomain{
			DomainSpec: f.domain.Domain.DomainSpec, Values: again(f.values),
		}, c.actor.User)
	}
	if errors.Is(err, catalog.ErrVersionConflict) || errors.Is(err, catalog.ErrNotFound) {
		return nil
	}
	return err
}

// again returns values to be created with the ids that they have, parents first.
func again(values []catalog.DomainValue) []catalog.NewDomainValue {
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
