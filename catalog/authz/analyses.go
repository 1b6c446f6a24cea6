package authz

import (
	"context"
	"time"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

// PutAnalysisProvider needs org:update.
func (s *Store) PutAnalysisProvider(ctx context.Context, n catalog.NewAnalysisProvider) (catalog.AnalysisProvider, error) {
	if err := inOrg(ctx, n.Org, auth.ScopeOrgUpdate); err != nil {
		return catalog.AnalysisProvider{}, err
	}
	return s.inner.PutAnalysisProvider(ctx, n)
}

// AnalysisProvider needs org:update.
func (s *Store) AnalysisProvider(ctx context.Context, org catalog.OrgID, family catalog.ModelFamily) (catalog.AnalysisProvider, error) {
	if err := inOrg(ctx, org, auth.ScopeOrgUpdate); err != nil {
		return catalog.AnalysisProvider{}, err
	}
	return s.inner.AnalysisProvider(ctx, org, family)
}

// AnalysisProviders needs org:update.
func (s *Store) AnalysisProviders(ctx context.Context, org catalog.OrgID) ([]catalog.AnalysisProvider, error) {
	if err := inOrg(ctx, org, auth.ScopeOrgUpdate); err != nil {
		return nil, err
	}
	return s.inner.AnalysisProviders(ctx, org)
}

// DeleteAnalysisProvider needs org:update.
func (s *Store) DeleteAnalysisProvider(ctx context.Context, org catalog.OrgID, family catalog.ModelFamily) error {
	if err := inOrg(ctx, org, auth.ScopeOrgUpdate); err != nil {
		return err
	}
	return s.inner.DeleteAnalysisProvider(ctx, org, family)
}

// AnalysisProviderKey is for the system: callers cannot read a key back.
func (s *Store) AnalysisProviderKey(
	ctx context.Context, org catalog.OrgID, family catalog.ModelFamily,
) (catalog.AnalysisProvider, []byte, error) {
	if err := systemOnly(ctx); err != nil {
		return catalog.AnalysisProvider{}, nil, err
	}
	return s.inner.AnalysisProviderKey(ctx, org, family)
}

// CountAnalysis is for the system: the code that analyses decides who may.
func (s *Store) CountAnalysis(ctx context.Context, org catalog.OrgID, limit int, window time.Duration) (time.Duration, error) {
	if err := systemOnly(ctx); err != nil {
		return 0, err
	}
	return s.inner.CountAnalysis(ctx, org, limit, window)
}

// AddAnalysisUse is for the system, which calls models.
func (s *Store) AddAnalysisUse(
	ctx context.Context, org catalog.OrgID, day time.Time, use catalog.AnalysisUse,
) (catalog.AnalysisUse, error) {
	if err := systemOnly(ctx); err != nil {
		return catalog.AnalysisUse{}, err
	}
	return s.inner.AddAnalysisUse(ctx, org, day, use)
}

// AnalysisUse is for the system, which calls models.
func (s *Store) AnalysisUse(ctx context.Context, org catalog.OrgID, day time.Time) (catalog.AnalysisUse, error) {
	if err := systemOnly(ctx); err != nil {
		return catalog.AnalysisUse{}, err
	}
	return s.inner.AnalysisUse(ctx, org, day)
}

// ForgetAnalysisUse is for the system: it spans organisations.
func (s *Store) ForgetAnalysisUse(ctx context.Context, before time.Time) (int64, error) {
	if err := systemOnly(ctx); err != nil {
		return 0, err
	}
	return s.inner.ForgetAnalysisUse(ctx, before)
}
