package authz

import (
	"context"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

// AddConstraints needs tables:modify in the workspace of the table.
func (s *Store) AddConstraints(ctx context.Context, viewer catalog.Viewer, table catalog.TableID, constraints []catalog.NewConstraint,
	by catalog.UserID) error {
	if err := s.onTable(ctx, viewer, table, auth.ScopeTablesModify); err != nil {
		return err
	}
	if err := signed(ctx, by); err != nil {
		return err
	}
	return s.inner.AddConstraints(ctx, viewer, table, constraints, by)
}

// Constraints is open to every caller who works on tables, because enforcement
// runs on the caller's behalf.
func (s *Store) Constraints(ctx context.Context, org catalog.OrgID, table catalog.DeltaID) ([]catalog.Constraint, error) {
	if err := inOrg(ctx, org, tableScopes()...); err != nil {
		return nil, err
	}
	return s.inner.Constraints(ctx, org, table)
}

// RememberedRules is for the system, which enforces the rules.
func (s *Store) RememberedRules(ctx context.Context, table catalog.TableID, id catalog.DeltaID) (catalog.RememberedRules, error) {
	if err := systemOnly(ctx); err != nil {
		return catalog.RememberedRules{}, err
	}
	return s.inner.RememberedRules(ctx, table, id)
}

// RememberRules is for the system, like RememberedRules.
func (s *Store) RememberRules(ctx context.Context, rules catalog.RememberedRules) error {
	if err := systemOnly(ctx); err != nil {
		return err
	}
	return s.inner.RememberRules(ctx, rules)
}

// DeleteConstraint needs tables:modify in the workspace of the table.
func (s *Store) DeleteConstraint(ctx context.Context, viewer catalog.Viewer, table catalog.TableID, name string) error {
	if err := s.onTable(ctx, viewer, table, auth.ScopeTablesModify); err != nil {
		return err
	}
	return s.inner.DeleteConstraint(ctx, viewer, table, name)
}
