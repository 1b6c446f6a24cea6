package app

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lakewarden/lakewarden/api/ops/maintain"
	longwork "github.com/lakewarden/lakewarden/api/ops/operation"
	"github.com/lakewarden/lakewarden/api/ops/query"
	"github.com/lakewarden/lakewarden/api/ops/write"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/config"
)

// forgetWritesEvery is how often leases of writes that ended with their replica
// are removed.
const forgetWritesEvery = 10 * time.Minute

// newWriteLeases ends what a killed process of this data directory has left of
// its writes, so that nothing waits for them.
func newWriteLeases(background context.Context, holder string, store *authz.Store, log *slog.Logger, s *Service) (write.Leases, error) {
	leases := write.Leases{Store: store, Logger: log, Holder: holder}
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

func newMaintenance(
	settings config.Settings, store *authz.Store, queries *query.Service, leases write.Leases,
	operations longwork.Service, registry *prometheus.Registry, log *slog.Logger,
) (maintain.Service, error) {
	temp, err := filepath.Abs(filepath.Join(settings.DataDir, "tmp"))
	if err != nil {
		return maintain.Service{}, err
	}
	return maintain.Service{
		Tables: queries.Tables, Operations: operations, Leases: leases, Pool: queries.Pool, Plans: queries.Plans, Temp: temp,
		Metrics: maintain.NewMetrics(registry), Logger: log,
	}, os.MkdirAll(temp, 0o700)
}
