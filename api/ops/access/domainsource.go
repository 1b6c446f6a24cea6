package access

import (
	"context"

	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/lake"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
)

// DomainSource finds the table from which a domain takes its values, regardless of who sees
// it.
// Errors: [ErrTableVanished] if no configuration has it, [ErrTableIdentity] if
// another table is in its place, and those of the store.
func (o Tables) DomainSource(ctx context.Context, org catalog.OrgID, source catalog.DomainSource) (catalog.LocatedTable, error) {
	var found *catalog.LocatedTable
	system := authz.System(ctx, "source of a domain")
	err := catalog.Each(func(page catalog.Page) (catalog.List[catalog.LocatedTable], error) {
		return o.store.ListTables(system, catalog.SystemViewer(org), catalog.TableFilter{DeltaID: source.Table}, page)
	}, func(t catalog.LocatedTable) error {
		rank, best := sourceRank(t, source), -1
		if found != nil {
			best = sourceRank(*found, source)
		}
		if rank > best || rank == best && t.RegisteredAt.Before(found.RegisteredAt) {
			found = &t
		}
		return nil
	})
	switch {
	case err != nil:
		return catalog.LocatedTable{}, err
	case found == nil || found.State == catalog.TableVanished:
		return catalog.LocatedTable{}, ErrTableVanished
	case found.State != catalog.TableLive:
		return catalog.LocatedTable{}, ErrTableIdentity
	}
	return *found, nil
}

// sourceRank orders registrations of one table: live ones first, then the one in the
// configuration where the source was set.
func sourceRank(t catalog.LocatedTable, source catalog.DomainSource) int {
	rank := 0
	if t.State == catalog.TableLive {
		rank = 2
	}
	if t.Config == source.Config {
		rank++
	}
	return rank
}

// CheckShared returns [ErrReferenceNotShared] unless everybody who sees the tables of a
// configuration sees those of source.
func (o Tables) CheckShared(ctx context.Context, config, source catalog.StorageConfig) error {
	switch {
	case source.ID == config.ID:
		return nil
	case source.Personal():
		if config.Personal() && config.Owner == source.Owner {
			return nil
		}
		return ErrReferenceNotShared
	case source.Workspace == config.Workspace:
		return nil
	}
	base, err := o.store.DefaultWorkspace(authz.System(ctx, "source of a domain"), source.Org)
	if err == nil && source.Workspace != base.ID {
		err = ErrReferenceNotShared
	}
	return err
}

// OpenUnfiltered returns the newest version of a table for work of the server in which all
// rows and columns take part, such as the check of a domain. Its view shows everything, so
// no part of it may reach a caller.
func (o Tables) OpenUnfiltered(ctx context.Context, located catalog.LocatedTable) (SystemTable, error) {
	a := caller.Identity{Org: located.Org}
	v, err := o.openRef(ctx, a, Ref{Table: &located, Newest: true, Rows: true})
	if err != nil {
		return SystemTable{}, err
	}
	policies, err := policiesFor(authz.System(ctx, "table of the server"), o.store, located.Org, v.governed())
	if err != nil {
		return SystemTable{}, err
	}
	all, err := policySet(nil).filter(Subject{}, lake.Columns(v.snap))
	return SystemTable{Table{tableVersion: v, tables: o, caller: a, policies: v.applicable(policies), seen: newView(all, v.snap)}}, err
}
