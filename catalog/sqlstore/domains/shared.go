package domains

import (
	"context"
	"slices"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/sqldb"
)

// CreateDomain implements [catalog.Domains].
func (s *Store) CreateDomain(ctx context.Context, org catalog.OrgID, n catalog.NewDomain,
	by catalog.UserID) (created catalog.Domain, err error) {
	if err := n.ValidateShared(); err != nil {
		return created, err
	}
	id := catalog.NewID[catalog.DomainID]()
	err = s.db.Change(ctx, func(tx sqldb.Session) error {
		if err := sqldb.RequireOrg(ctx, tx, org); err != nil {
			return err
		}
		if err := s.insertDomain(ctx, tx, org, id, n, by); err != nil {
			return err
		}
		created, err = sharedDomain(ctx, tx, org, id)
		return err
	})
	return created, err
}

// Domain implements [catalog.Domains].
func (s *Store) Domain(ctx context.Context, org catalog.OrgID, id catalog.DomainID) (catalog.Domain, error) {
	return sharedDomain(ctx, s.db.Read(), org, id)
}

// ListDomains implements [catalog.Domains].
func (s *Store) ListDomains(ctx context.Context, org catalog.OrgID, page catalog.Page) (catalog.List[catalog.Domain], error) {
	order := sqldb.Paging[catalog.Domain]{
		List: "domains", Key: "d.name_key", ID: "d.id",
		Position: func(d catalog.Domain) (string, string) { return sqldb.NameKey(d.Name), string(d.ID) },
	}
	var w sqldb.Where
	w.And("d.org_id = ? AND d.name_key <> '' AND "+sqldb.LiveOrg("d.org_id"), org)
	return order.Fetch(ctx, s.db.Read(), page, scanDomain, selectDomain, w)
}

// ReplaceDomain implements [catalog.Domains].
func (s *Store) ReplaceDomain(ctx context.Context, t catalog.DomainTarget, content catalog.NewDomain) (replaced catalog.Domain, err error) {
	if err := content.ValidateShared(); err != nil {
		return replaced, err
	}
	org, id := t.Org, t.Domain
	err = s.db.Change(ctx, func(tx sqldb.Session) error {
		before, err := sharedDomainAt(ctx, tx, org, id, t.ExpectedVersion)
		if err != nil {
			return err
		}
		if err := unchanging(ctx, tx, id); err != nil {
			return err
		}
		uses, err := domainUses(ctx, tx, org, id)
		if err == nil {
			err = compareUses(t, before, uses)
		}
		if err != nil {
			return err
		}
		if before.Kind != content.Kind {
			if len(uses) > 0 {
				return catalog.ErrDomainKind
			}
			if err := s.release(ctx, tx, id); err != nil {
				return err
			}
		}
		if err := s.updateDomain(ctx, tx, before, content); err != nil {
			return err
		}
		for _, use := range uses {
			if err := acyclic(ctx, tx, org, column{use.Table, use.Column}); err != nil {
				return err
			}
		}
		replaced, err = sharedDomain(ctx, tx, org, id)
		return err
	})
	return replaced, err
}

// DeleteDomain implements [catalog.Domains].
func (s *Store) DeleteDomain(ctx context.Context, org catalog.OrgID, id catalog.DomainID, expectedVersion int64) error {
	return s.db.Change(ctx, func(tx sqldb.Session) error {
		if _, err := sharedDomainAt(ctx, tx, org, id, expectedVersion); err != nil {
			return err
		}
		if err := unchanging(ctx, tx, id); err != nil {
			return err
		}
		uses, err := domainUses(ctx, tx, org, id)
		if err != nil {
			return err
		}
		if len(uses) > 0 {
			return catalog.ErrDomainInUse
		}
		if err := s.release(ctx, tx, id); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, "DELETE FROM domains WHERE id = ?", id)
		return err
	})
}

// release makes the domain a deleted one for the columns that use it, whose tables are gone.
func (s *Store) release(ctx context.Context, tx sqldb.Session, id catalog.DomainID) error {
	if err := s.raiseDomain(ctx, tx, id); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, "UPDATE column_domains SET domain_id = NULL WHERE domain_id = ?", id)
	return err
}

// DomainUses implements [catalog.Domains].
func (s *Store) DomainUses(ctx context.Context, org catalog.OrgID, id catalog.DomainID) ([]catalog.ColumnDomain, error) {
	_, err := sqldb.One(ctx, s.db.Read(), scanDomain, selectDomain+" WHERE d.org_id = ? AND d.id = ? AND "+sqldb.LiveOrg("d.org_id"), org, id)
	if err != nil {
		return nil, err
	}
	return domainUses(ctx, s.db.Read(), org, id)
}

// compareUses returns a version conflict unless the columns that use a domain are those by which
// the caller of a change was judged.
func compareUses(t catalog.DomainTarget, d catalog.Domain, uses []catalog.ColumnDomain) error {
	same := func(a, b catalog.ColumnDomain) bool {
		return a.Table == b.Table && a.Column == b.Column && a.Parent == b.Parent
	}
	if t.Uses == nil || slices.EqualFunc(t.Uses, uses, same) {
		return nil
	}
	return &catalog.VersionConflictError{Current: d.Version}
}

// domainUses returns the uses in the order of their tables and columns.
func domainUses(ctx context.Context, s sqldb.Session, org catalog.OrgID, id catalog.DomainID) ([]catalog.ColumnDomain, error) {
	return sqldb.List(ctx, s, scanColumnDomain, selectColumnDomain+" WHERE d.org_id = ? AND d.id = ? AND "+present+
		" ORDER BY a.delta_id, a.column_name", org, id)
}
