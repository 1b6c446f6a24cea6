package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lakewarden/lakewarden/api/ops"
	"github.com/lakewarden/lakewarden/catalog/authz"
)

// forgetWritesEvery is how often leases of writes that ended with their replica
// are removed.
const forgetWritesEvery = 10 * time.Minute

func newMaintenance(background context.Context, store *authz.Store, tables ops.Tables, operations ops.Operations, registry *prometheus.Registry, log *slog.Logger, s *service) ops.Maintenance {
	writes := ops.WriteLeases{Store: store, Logger: log}
	s.every(background, forgetWritesEvery, func(ctx context.Context) {
		if err := writes.Sweep(ctx); err != nil && ctx.Err() == nil {
			log.Warn("write leases not swept", "error", err)
		}
	})
	return ops.Maintenance{
		Tables: tables, Permissions: store, Operations: operations, Writes: writes, Metrics: ops.NewMaintenanceMetrics(registry), Logger: log,
	}
}
