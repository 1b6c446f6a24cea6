package main

import (
	"context"
	"fmt"
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

// newWriteLeases ends what a killed process of this data directory has left of
// its writes, so that nothing waits for them.
func newWriteLeases(background context.Context, holder string, store *authz.Store, log *slog.Logger, s *service) (ops.WriteLeases, error) {
	leases := ops.WriteLeases{Store: store, Logger: log, Holder: holder}
	ended, err := leases.EndFormer(background)
	if err != nil {
		return leases, fmt.Errorf("write leases of a former process: %w", err)
	}
	if ended > 0 {
		log.Info("writes that a former process has left", "leases", ended)
	}
	s.every(background, forgetWritesEvery, func(ctx context.Context) {
		if err := leases.Sweep(ctx); err != nil && ctx.Err() == nil {
			log.Warn("write leases not swept", "error", err)
		}
	})
	return leases, nil
}

func newMaintenance(config Config, store *authz.Store, queries *ops.Queries, leases ops.WriteLeases, operations ops.Operations, registry *prometheus.Registry, log *slog.Logger) (ops.Maintenance, error) {
	temp, err := filepath.Abs(filepath.Join(config.DataDir, "tmp"))
	if err != nil {
		return ops.Maintenance{}, err
	}
	return ops.Maintenance{
		Tables: queries.Tables, Operations: operations, Leases: leases, Pool: queries.Pool, Plans: queries.Plans, Temp: temp,
		Metrics: ops.NewMaintenanceMetrics(registry), Logger: log,
	}, os.MkdirAll(temp, 0o700)
}
