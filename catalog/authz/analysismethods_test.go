package authz_test

import (
	"context"
	"time"

	"github.com/lakewarden/lakewarden/catalog"
)

// newAnalysisProvider returns the access of the fixture's organisation to a family.
func (f *fixture) newAnalysisProvider(family catalog.ModelFamily) catalog.NewAnalysisProvider {
	return catalog.NewAnalysisProvider{Org: f.org, Family: family, SealedKey: []byte("s")}
}

// analysisMethods holds the cases of catalog.Analyses.
var analysisMethods = map[string]method{
	"PutAnalysisProvider": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.PutAnalysisProvider(ctx, f.newAnalysisProvider(catalog.FamilyB)))
		},
		allowed: admins, denied: catalog.ErrDenied,
	},
	"AnalysisProvider": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.AnalysisProvider(ctx, f.org, catalog.FamilyA))
		},
		allowed: admins, denied: catalog.ErrDenied,
	},
	"AnalysisProviders": {
		call:    func(f *fixture, ctx context.Context) error { return drop(f.store.AnalysisProviders(ctx, f.org)) },
		allowed: admins, denied: catalog.ErrDenied,
	},
	"DeleteAnalysisProvider": {
		call: func(f *fixture, ctx context.Context) error {
			return f.store.DeleteAnalysisProvider(ctx, f.org, catalog.FamilyA)
		},
		allowed: admins, denied: catalog.ErrDenied,
	},
	"AnalysisProviderKey": {
		call: func(f *fixture, ctx context.Context) error {
			_, _, err := f.store.AnalysisProviderKey(ctx, f.org, catalog.FamilyA)
			return err
		},
		denied: catalog.ErrDenied,
	},
	"CountAnalysis": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.CountAnalysis(ctx, f.org, 1, time.Minute))
		},
		denied: catalog.ErrDenied,
	},
	"AddAnalysisUse": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.AddAnalysisUse(ctx, f.org, time.Now(), catalog.AnalysisUse{InputTokens: 1}))
		},
		denied: catalog.ErrDenied,
	},
	"AnalysisUse": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.AnalysisUse(ctx, f.org, time.Now()))
		},
		denied: catalog.ErrDenied,
	},
	"ForgetAnalysisUse": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.ForgetAnalysisUse(ctx, time.Now()))
		},
		denied: catalog.ErrDenied,
	},
}
