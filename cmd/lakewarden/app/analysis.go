package app

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lakewarden/lakewarden/api/ops/analysis"
	"github.com/lakewarden/lakewarden/api/ops/operation"
	"github.com/lakewarden/lakewarden/api/ops/query"
	"github.com/lakewarden/lakewarden/api/ops/table"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/config"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/lifecycle"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/stores"
	"github.com/lakewarden/lakewarden/engine/llm"
	"github.com/lakewarden/lakewarden/engine/storage/kind"
)

// forgetAnalysesEvery is how often old records of the use of models are removed.
const forgetAnalysesEvery = time.Hour

// newModelProviders returns the use cases of organisations' access to models. Their
// addresses are checked like those of storage endpoints.
func newModelProviders(settings config.Settings, store *authz.Store, remote *stores.Remote) analysis.Providers {
	operator := map[catalog.ModelFamily]analysis.Access{}
	for family, set := range settings.Analysis.Families() {
		operator[family] = analysis.Access{Key: set.Key, BaseURL: set.BaseURL}
	}
	return analysis.Providers{
		Store: store, Keys: remote.Keys, Operator: operator,
		CheckURL: func(ctx context.Context, field, address string) error {
			return kind.CheckURL(ctx, remote.Egress, field, address)
		},
		Models: models,
	}
}

// models returns all models as callers choose them.
func models() []analysis.Model {
	var out []analysis.Model
	for _, m := range llm.Models() {
		out = append(out, analysis.Model{ID: m.ID, Family: catalog.ModelFamily(m.Family), Description: m.Description, Default: m.Default})
	}
	return out
}

// newAnalyses returns the use cases of analyses.
func newAnalyses(
	background context.Context, settings config.Settings, store *authz.Store, remote *stores.Remote, rules table.Rules,
	queries *query.Service, stored query.Stored, operations operation.Service, registry *prometheus.Registry, log *slog.Logger,
	parts *lifecycle.Group,
) *analysis.Service {
	return &analysis.Service{
		Store: store, Tables: queries.Tables, Rules: rules, Queries: queries, Stored: stored, Operations: operations, Audit: queries.Audit,
		Metrics: analysis.NewMetrics(registry), Cache: analysis.NewCache(), Turns: analysis.NewTurns(),
		Timeout: settings.MaxTimeout,
		Limits:  newAnalysisLimits(background, settings, store, log, parts),
		Words: analysis.Words{
			Providers: newModelProviders(settings, store, remote), Connect: newModelClients(settings, remote).connect,
			VendorName: modelNames(settings).VendorName,
		},
	}
}

// modelClients connects to providers of models.
type modelClients struct {
	// operator connects to addresses of the operator and of vendors, confined to addresses
	// that organisations choose.
	operator, confined *http.Client
	timeout            time.Duration
}

func newModelClients(settings config.Settings, remote *stores.Remote) modelClients {
	confined := stores.EgressClient(remote.Egress)
	confined.Timeout = 0 // each try has its own
	return modelClients{
		operator: &http.Client{Transport: http.DefaultTransport}, confined: confined, timeout: settings.Analysis.ModelTimeout,
	}
}

func (c modelClients) connect(family catalog.ModelFamily, access analysis.Access) (llm.Client, error) {
	client := c.operator
	if access.Confined {
		client = c.confined
	}
	return llm.New(llm.Family(family), llm.Options{
		Key: llm.NewKey(access.Key), BaseURL: access.BaseURL, HTTP: client, Timeout: c.timeout,
	})
}

// modelNames returns the vendors' names of the models.
func modelNames(settings config.Settings) llm.Names {
	names := llm.Names{Prefixes: map[llm.Family]string{}, Overrides: map[string]string{}}
	for family, set := range settings.Analysis.Families() {
		names.Prefixes[llm.Family(family)] = set.Prefix
	}
	for id, model := range settings.Analysis.Models {
		names.Overrides[id] = model.Name
	}
	return names
}

// newAnalysisLimits returns the limits of analyses, and starts the removal of old counts.
func newAnalysisLimits(
	background context.Context, settings config.Settings, store *authz.Store, log *slog.Logger, parts *lifecycle.Group,
) analysis.Limits {
	set := &settings.Analysis
	limits := analysis.Limits{
		Store: store, PerMinute: set.PerMinute, TokensPerDay: set.TokensPerDay, CostPerDay: set.CostMicrosPerDay(),
		Prices: map[string]analysis.Price{},
	}
	for id, model := range set.Models {
		limits.Prices[id] = analysis.Price{Input: model.InputPrice, Output: model.OutputPrice}
	}
	parts.Every(background, forgetAnalysesEvery, func(ctx context.Context) {
		if err := limits.Sweep(ctx); err != nil && ctx.Err() == nil {
			log.Warn("old counts of analyses not removed", "error", err)
		}
	})
	return limits
}
