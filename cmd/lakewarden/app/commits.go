package app

import (
	"context"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lakewarden/lakewarden/api/ops/lake"
	"github.com/lakewarden/lakewarden/api/ops/maintain"
	"github.com/lakewarden/lakewarden/api/ops/query"
	"github.com/lakewarden/lakewarden/catalog"
)

// followCommits lets the lakes of replicas tell each other of commits to remote
// tables, which each would otherwise look for once a second.
func followCommits(ctx context.Context, store catalog.Commits, lake *lake.Lake, s *Service) {
	lake.Announce = store.AnnounceCommit
	s.background(ctx, func(ctx context.Context) { lake.Follow(store.WatchCommits(ctx)) })
}

// checkForeignCommits checks the rules of tables in the background when other
// writers have committed to them.
func checkForeignCommits(
	ctx context.Context, store catalog.Constraints, data *lake.Lake, queries *query.Service, registry *prometheus.Registry, log *slog.Logger, s *Service,
) {
	checks := &maintain.ForeignCommits{
		Store: store, Lake: data, Parser: queries.Plans.Parser(), Pool: queries.Pool, Metrics: maintain.NewForeignMetrics(registry), Logger: log,
	}
	checks.Watch()
	s.background(ctx, checks.Run)
}
