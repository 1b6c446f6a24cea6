package app

import (
	"context"
	"log/slog"
	"time"

	"github.com/lakewarden/lakewarden/api/ops/analysis"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/config"
	"github.com/lakewarden/lakewarden/engine/storage/kind"
)

// forgetAnalysesEvery is how often the use of models in former days is removed.
const forgetAnalysesEvery = time.Hour

// newModelProviders returns the use cases of organisations' access to models. Their
// addresses are checked like those of storage endpoints.
func newModelProviders(settings config.Settings, store *authz.Store, remote *remoteStores) analysis.Providers {
	operator := map[catalog.ModelFamily]analysis.Access{}
	for family, set := range settings.Analysis.Families() {
		operator[family] = analysis.Access{Key: set.Key, BaseURL: set.BaseURL}
	}
	return analysis.Providers{
		Store: store, Keys: remote.keys, Operator: operator,
		CheckURL: func(ctx context.Context, field, address string) error {
			return kind.CheckURL(ctx, remote.egress, field, address)
		},
		Models: func() []analysis.Model { return nil },
	}
}

// newAnalysisLimits returns the limits of analyses, and starts the removal of old counts.
func newAnalysisLimits(
	background context.Context, settings config.Settings, store *authz.Store, log *slog.Logger, s *Service,
) analysis.Limits {
	set := &settings.Analysis
	limits := analysis.Limits{
		Store: store, PerMinute: set.PerMinute, TokensPerDay: set.TokensPerDay, CostPerDay: set.CostMicrosPerDay(),
		Prices: map[string]analysis.Price{},
	}
	for id, model := range set.Models {
		limits.Prices[id] = analysis.Price{Input: model.InputPrice, Output: model.OutputPrice}
	}
	s.every(background, forgetAnalysesEvery, func(ctx context.Context) {
		if err := limits.Sweep(ctx); err != nil && ctx.Err() == nil {
			log.Warn("old counts of analyses not removed", "error", err)
		}
	})
	return limits
}
