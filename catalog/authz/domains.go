package authz

import (
	"context"
	"time"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

// TableDomains is open to every caller who works on tables, because enforcement runs on
// the caller's behalf.
func (s *Store) TableDomains(ctx context.Context, org catalog.OrgID, table catalog.DeltaID) (catalog.TableDomains, error) {
	if err := inOrg(ctx, org, tableScopes()...); err != nil {
		return catalog.TableDomains{}, err
	}
	return s.inner.TableDomains(ctx, org, table)
}

// DomainValues is open to every caller who works on tables, like TableDomains.
func (s *Store) DomainValues(ctx context.Context, org catalog.OrgID, domain catalog.DomainID) (catalog.DomainValues, error) {
	if err := inOrg(ctx, org, tableScopes()...); err != nil {
		return catalog.DomainValues{}, err
	}
	return s.inner.DomainValues(ctx, org, domain)
}

// SetColumnDomain needs domains:write in the workspace of the table.
func (s *Store) SetColumnDomain(ctx context.Context, viewer catalog.Viewer, table catalog.TableID, at catalog.ColumnDomainAt,
	domain catalog.NewDomain, by catalog.UserID) (none catalog.ColumnDomain, err error) {
	if err := s.onTable(ctx, viewer, table, auth.ScopeDomainsWrite); err != nil {
		return none, err
	}
	if err := signed(ctx, by); err != nil {
		return none, err
	}
	return s.inner.SetColumnDomain(ctx, viewer, table, at, domain, by)
}

// UseDomain needs domains:write in the workspace of the table.
func (s *Store) UseDomain(ctx context.Context, viewer catalog.Viewer, table catalog.TableID, at catalog.ColumnDomainAt,
	domain catalog.DomainID, by catalog.UserID) (none catalog.ColumnDomain, err error) {
	if err := s.onTable(ctx, viewer, table, auth.ScopeDomainsWrite); err != nil {
		return none, err
	}
	if err := signed(ctx, by); err != nil {
		return none, err
	}
	return s.inner.UseDomain(ctx, viewer, table, at, domain, by)
}

// RemoveColumnDomain needs domains:write in the workspace of the table.
func (s *Store) RemoveColumnDomain(ctx context.Context, viewer catalog.Viewer, table catalog.TableID, at catalog.ColumnDomainAt) error {
	if err := s.onTable(ctx, viewer, table, auth.ScopeDomainsWrite); err != nil {
		return err
	}
	return s.inner.RemoveColumnDomain(ctx, viewer, table, at)
}

// CreateDomain needs domains:write in the organisation.
func (s *Store) CreateDomain(ctx context.Context, org catalog.OrgID, domain catalog.NewDomain, by catalog.UserID) (catalog.Domain, error) {
	if err := inOrg(ctx, org, auth.ScopeDomainsWrite); err != nil {
		return catalog.Domain{}, err
	}
	if err := signed(ctx, by); err != nil {
		return catalog.Domain{}, err
	}
	return s.inner.CreateDomain(ctx, org, domain, by)
}

// Domain needs domains:read in the organisation.
func (s *Store) Domain(ctx context.Context, org catalog.OrgID, domain catalog.DomainID) (catalog.Domain, error) {
	if err := inOrg(ctx, org, auth.ScopeDomainsRead, auth.ScopeDomainsWrite); err != nil {
		return catalog.Domain{}, err
	}
	return s.inner.Domain(ctx, org, domain)
}

// ListDomains needs domains:read in the organisation.
func (s *Store) ListDomains(ctx context.Context, org catalog.OrgID, page catalog.Page) (catalog.List[catalog.Domain], error) {
	if err := inOrg(ctx, org, auth.ScopeDomainsRead, auth.ScopeDomainsWrite); err != nil {
		return catalog.List[catalog.Domain]{}, err
	}
	return s.inner.ListDomains(ctx, org, page)
}

// ReplaceDomain needs domains:write in the organisation.
func (s *Store) ReplaceDomain(ctx context.Context, target catalog.DomainTarget, content catalog.NewDomain) (catalog.Domain, error) {
	if err := inOrg(ctx, target.Org, auth.ScopeDomainsWrite); err != nil {
		return catalog.Domain{}, err
	}
	return s.inner.ReplaceDomain(ctx, target, content)
}

// DeleteDomain needs domains:write in the organisation.
func (s *Store) DeleteDomain(ctx context.Context, org catalog.OrgID, domain catalog.DomainID, expectedVersion int64) error {
	if err := inOrg(ctx, org, auth.ScopeDomainsWrite); err != nil {
		return err
	}
	return s.inner.DeleteDomain(ctx, org, domain, expectedVersion)
}

// DomainUses needs domains:read in the organisation. It names tables that the caller may
// not see, so its result is not shown as it is.
func (s *Store) DomainUses(ctx context.Context, org catalog.OrgID, domain catalog.DomainID) ([]catalog.ColumnDomain, error) {
	if err := inOrg(ctx, org, auth.ScopeDomainsRead, auth.ScopeDomainsWrite); err != nil {
		return nil, err
	}
	return s.inner.DomainUses(ctx, org, domain)
}

// DomainsFrom is open to every caller who works on tables, because a change of a table is
// refused on account of its result, which is not shown as it is.
func (s *Store) DomainsFrom(ctx context.Context, org catalog.OrgID, source catalog.DeltaID) ([]catalog.ColumnDomain, error) {
	if err := inOrg(ctx, org, tableScopes()...); err != nil {
		return nil, err
	}
	return s.inner.DomainsFrom(ctx, org, source)
}

// onDomain checks a change of the values of a domain: with domains:write in the workspace
// of the table whose column owns the domain, or in the organisation for a shared one.
func (s *Store) onDomain(ctx context.Context, t catalog.DomainTarget) error {
	if t.Table == "" {
		return inOrg(ctx, t.Org, auth.ScopeDomainsWrite)
	}
	if t.Org != t.Viewer.Org {
		return catalog.ErrNotFound
	}
	return s.onTable(ctx, t.Viewer, t.Table, auth.ScopeDomainsWrite)
}

// AddDomainValues needs domains:write; see onDomain.
func (s *Store) AddDomainValues(ctx context.Context, target catalog.DomainTarget,
	values []catalog.NewDomainValue) (catalog.Domain, []catalog.DomainValue, error) {
	if err := s.onDomain(ctx, target); err != nil {
		return catalog.Domain{}, nil, err
	}
	return s.inner.AddDomainValues(ctx, target, values)
}

// DescribeDomainValue needs domains:write; see onDomain.
func (s *Store) DescribeDomainValue(ctx context.Context, target catalog.DomainTarget, value catalog.ValueID,
	label, description string) (catalog.Domain, error) {
	if err := s.onDomain(ctx, target); err != nil {
		return catalog.Domain{}, err
	}
	return s.inner.DescribeDomainValue(ctx, target, value, label, description)
}

// BeginValueChange needs domains:write, as onDomain says, and domains:write and
// rows:update in the workspace of every table whose rows the change rewrites. A deletion
// rewrites none.
func (s *Store) BeginValueChange(ctx context.Context, target catalog.DomainTarget, change catalog.ValueChange) (none catalog.ValueChange,
	err error) {
	if err := s.onDomain(ctx, target); err != nil {
		return none, err
	}
	if err := signed(ctx, change.By); err != nil {
		return none, err
	}
	if change.Kind != catalog.ValueDelete {
		if err := s.rewrites(ctx, target); err != nil {
			return none, err
		}
	}
	return s.inner.BeginValueChange(ctx, target, change)
}

// rewrites checks that the actor may change rows of every table that uses a domain.
func (s *Store) rewrites(ctx context.Context, t catalog.DomainTarget) error {
	if t.Table != "" {
		return s.onTable(ctx, t.Viewer, t.Table, auth.ScopeRowsUpdate)
	}
	a, err := actorFrom(ctx)
	if err != nil || a.system {
		return err
	}
	uses, err := s.inner.DomainUses(ctx, t.Org, t.Domain)
	if err != nil {
		return err
	}
	for _, use := range uses {
		err := catalog.Each(func(page catalog.Page) (catalog.List[catalog.LocatedTable], error) {
			return s.inner.ListTables(ctx, catalog.SystemViewer(t.Org), catalog.TableFilter{DeltaID: use.Table}, page)
		}, func(table catalog.LocatedTable) error {
			scopes, _, err := s.scopesIn(ctx, a, table.StorageConfig.Workspace)
			if err != nil {
				return err
			}
			if err := holds(scopes, []auth.Scope{auth.ScopeDomainsWrite}); err != nil {
				return err
			}
			return holds(scopes, []auth.Scope{auth.ScopeRowsUpdate})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// RenewValueChange is for the system, which rewrites the rows.
func (s *Store) RenewValueChange(ctx context.Context, change catalog.ValueChangeID, holder string) error {
	if err := systemOnly(ctx); err != nil {
		return err
	}
	return s.inner.RenewValueChange(ctx, change, holder)
}

// NarrowValueChange is for the system, which rewrites the rows.
func (s *Store) NarrowValueChange(ctx context.Context, change catalog.ValueChangeID) error {
	if err := systemOnly(ctx); err != nil {
		return err
	}
	return s.inner.NarrowValueChange(ctx, change)
}

// EndValueChange is for the system, which rewrites the rows.
func (s *Store) EndValueChange(ctx context.Context, change catalog.ValueChangeID) error {
	if err := systemOnly(ctx); err != nil {
		return err
	}
	return s.inner.EndValueChange(ctx, change)
}

// WithdrawValueChange is for the system, which rewrites the rows.
func (s *Store) WithdrawValueChange(ctx context.Context, change catalog.ValueChangeID) error {
	if err := systemOnly(ctx); err != nil {
		return err
	}
	return s.inner.WithdrawValueChange(ctx, change)
}

// TakeValueChanges is for the system: it spans organisations.
func (s *Store) TakeValueChanges(ctx context.Context, holder string, since time.Time) ([]catalog.ValueChange, error) {
	if err := systemOnly(ctx); err != nil {
		return nil, err
	}
	return s.inner.TakeValueChanges(ctx, holder, since)
}
