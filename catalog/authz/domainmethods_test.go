package authz_test

import (
	"context"
	"time"

	"github.com/lakewarden/lakewarden/catalog"
)

// domainMethods returns the cases of catalog.Domains and catalog.Publications.
var domainMethods = map[string]method{
	"TableDomains": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.TableDomains(ctx, f.org, f.table.DeltaID))
		},
		allowed: everyone,
	},
	"DomainValues": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.DomainValues(ctx, f.org, f.own.ID))
		},
		allowed: everyone,
	},
	"SetColumnDomain": {
		call: func(f *fixture, ctx context.Context) error {
			at := catalog.ColumnDomainAt{Column: "b"}
			return drop(f.store.SetColumnDomain(ctx, f.viewer(ctx), f.table.ID, at, fixedDomain(""), f.actor(ctx)))
		},
		allowed: builders, denied: catalog.ErrDenied,
	},
	"UseDomain": {
		call: func(f *fixture, ctx context.Context) error {
			at := catalog.ColumnDomainAt{Column: "b"}
			return drop(f.store.UseDomain(ctx, f.viewer(ctx), f.table.ID, at, f.shared.ID, f.actor(ctx)))
		},
		allowed: builders, denied: catalog.ErrDenied,
	},
	"RemoveColumnDomain": {
		call: func(f *fixture, ctx context.Context) error {
			return f.store.RemoveColumnDomain(ctx, f.viewer(ctx), f.table.ID, catalog.ColumnDomainAt{Column: "a"})
		},
		allowed: builders, denied: catalog.ErrDenied,
	},
	"CreateDomain": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.CreateDomain(ctx, f.org, fixedDomain("new"), f.actor(ctx)))
		},
		allowed: builders, denied: catalog.ErrDenied,
	},
	"Domain": {
		call:    func(f *fixture, ctx context.Context) error { return drop(f.store.Domain(ctx, f.org, f.shared.ID)) },
		allowed: everyone,
	},
	"ListDomains": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.ListDomains(ctx, f.org, catalog.Page{}))
		},
		allowed: everyone,
	},
	"ReplaceDomain": {
		call: func(f *fixture, ctx context.Context) error {
			at := catalog.DomainTarget{Org: f.org, Domain: f.shared.ID, ExpectedVersion: 1}
			return drop(f.store.ReplaceDomain(ctx, at, fixedDomain("renamed")))
		},
		allowed: builders, denied: catalog.ErrDenied,
	},
	"DeleteDomain": {
		call: func(f *fixture, ctx context.Context) error {
			return f.store.DeleteDomain(ctx, f.org, f.unused.ID, 1)
		},
		allowed: builders, denied: catalog.ErrDenied,
	},
	"DomainUses": {
		call:    func(f *fixture, ctx context.Context) error { return drop(f.store.DomainUses(ctx, f.org, f.shared.ID)) },
		allowed: everyone,
	},
	"DomainsFrom": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.DomainsFrom(ctx, f.org, f.table.DeltaID))
		},
		allowed: everyone,
	},
	"AddDomainValues": {
		call: func(f *fixture, ctx context.Context) error {
			_, _, err := f.store.AddDomainValues(ctx, f.target(ctx), []catalog.NewDomainValue{{Value: "new"}})
			return err
		},
		allowed: builders, denied: catalog.ErrDenied,
	},
	"DescribeDomainValue": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.DescribeDomainValue(ctx, f.target(ctx), f.value, "label", ""))
		},
		allowed: builders, denied: catalog.ErrDenied,
	},
	"BeginValueChange": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.BeginValueChange(ctx, f.target(ctx), catalog.ValueChange{
				Kind: catalog.ValueRename, Value: f.value, To: "new", By: f.actor(ctx), Holder: "holder",
			}))
		},
		allowed: builders, denied: catalog.ErrDenied,
	},
	"RenewValueChange": {
		call: func(f *fixture, ctx context.Context) error {
			return f.store.RenewValueChange(ctx, f.changing, "holder")
		},
		denied: catalog.ErrDenied,
	},
	"NarrowValueChange": {
		call:   func(f *fixture, ctx context.Context) error { return f.store.NarrowValueChange(ctx, f.changing) },
		denied: catalog.ErrDenied,
	},
	"EndValueChange": {
		call: func(f *fixture, ctx context.Context) error {
			return f.store.EndValueChange(ctx, catalog.NewID[catalog.ValueChangeID]())
		},
		denied: catalog.ErrDenied,
	},
	"WithdrawValueChange": {
		call:   func(f *fixture, ctx context.Context) error { return f.store.WithdrawValueChange(ctx, f.changing) },
		denied: catalog.ErrDenied,
	},
	"TakeValueChanges": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.TakeValueChanges(ctx, "another", time.Now()))
		},
		denied: catalog.ErrDenied,
	},
	"PublishWrite": {
		call:   func(f *fixture, ctx context.Context) error { return f.store.PublishWrite(ctx, f.write, 0) },
		denied: catalog.ErrDenied,
	},
	"WithdrawWrite": {
		call:   func(f *fixture, ctx context.Context) error { return f.store.WithdrawWrite(ctx, f.write) },
		denied: catalog.ErrDenied,
	},
	"PublishingBefore": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.PublishingBefore(ctx, f.org, "delta", 1, time.Now()))
		},
		denied: catalog.ErrDenied,
	},
}

// fixedDomain returns a domain of one value, shared if it has a name.
func fixedDomain(name string) catalog.NewDomain {
	return catalog.NewDomain{
		Name: name, DomainSpec: catalog.DomainSpec{Kind: catalog.DomainFixed},
		Values: []catalog.NewDomainValue{{Value: "value"}},
	}
}

// target returns the domain of a column of the fixture's table.
func (f *fixture) target(ctx context.Context) catalog.DomainTarget {
	return catalog.DomainTarget{Org: f.org, Viewer: f.viewer(ctx), Table: f.table.ID, Domain: f.own.ID}
}
