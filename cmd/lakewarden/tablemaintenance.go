package main

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lakewarden/lakewarden/api/ops"
	"github.com/lakewarden/lakewarden/catalog/authz"
)

// forgetWritesEvery is how often leases of writes that ended with their replica
// are removed.
const forgetWritesEvery = 10 * time.Minute

func newMaintenance(background context.Context, config Config, store *authz.Store, queries *ops.Queries, operations ops.Operations, registry *prometheus.Registry, log *slog.Logger, s *service) (ops.Maintenance, error) {
	writes := ops.WriteLeases{Store: store, Logger: log}
	s.every(background, forgetWritesEvery, func(ctx context.Context) {
		if err := writes.Sweep(ctx); err != nil && ctx.Err() == nil {
			log.Warn("write leases not swept", "error", err)
		}
	})
	temp, err := filepath.Abs(filepath.Join(config.DataDir, "tmp"))
	if err != nil {
		return ops.Maintenance{}, err
	}
	return ops.Maintenance{
		Tables: queries.Tables, Permissions: store, Operations: operations, Writes: writes, Pool: queries.Pool, Plans: queries.Plans, Temp: temp,
		Metrics: ops.NewMaintenanceMetrics(registry), Logger: log,
	}, os.MkdirAll(temp, 0o700)
}
