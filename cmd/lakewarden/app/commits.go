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
	ctx, stop := context.WithCancel(ctx)
	lake.Announce = store.AnnounceCommit
	done := make(chan struct{})
	go func() {
		defer close(done)
		lake.Follow(store.WatchCommits(ctx))
	}()
	s.onClose(func(context.Context) error {
		stop()
		<-done
		return nil
	})
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
	ctx, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		checks.Run(ctx)
	}()
	s.onClose(func(context.Context) error {
		stop()
		<-done
		return nil
	})
}
