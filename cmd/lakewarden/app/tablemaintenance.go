package app

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lakewarden/lakewarden/api/ops/deletion"
	"github.com/lakewarden/lakewarden/api/ops/maintain"
	longwork "github.com/lakewarden/lakewarden/api/ops/operation"
	"github.com/lakewarden/lakewarden/api/ops/query"
	"github.com/lakewarden/lakewarden/api/ops/write"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/config"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/lifecycle"
)

// forgetWritesEvery is the interval at which write leases of failed replicas are removed.
const forgetWritesEvery = time.Minute

// newWriteLeases ends the leases of a killed process of this data directory, so that no
// operation waits for them.
func newWriteLeases(
	background context.Context, settings config.Settings, holder string, store *authz.Store, log *slog.Logger, parts *lifecycle.Group,
) (write.Leases, error) {
	leases := write.Leases{Store: store, Logger: log, Holder: holder, SandboxQuota: settings.SandboxQuota * config.MiB}
	ended, err := leases.EndFormer(background)
	if err != nil {
		return leases, fmt.Errorf("write leases of an earlier process: %w", err)
	}
	if ended > 0 {
		log.Info("ended write leases of an earlier process", "leases", ended)
	}
	parts.Every(background, forgetWritesEvery, func(ctx context.Context) {
		if err := leases.Sweep(ctx); err != nil && ctx.Err() == nil {
			log.Warn("expired write leases not removed", "error", err)
		}
	})
	return leases, nil
}

func newMaintenance(
	settings config.Settings, store *authz.Store, queries *query.Service, leases write.Leases, deletions *deletion.Deletions,
	operations longwork.Service, registry *prometheus.Registry, log *slog.Logger,
) (maintain.Service, error) {
	temp, err := filepath.Abs(filepath.Join(settings.DataDir, "tmp"))
	if err != nil {
		return maintain.Service{}, err
	}
	return maintain.Service{
		Tables: queries.Tables, Operations: operations, Leases: leases, Deletions: deletions, Pool: queries.Pool, Plans: queries.Plans,
		Temp:    temp,
		Metrics: maintain.NewMetrics(registry), Logger: log,
	}, os.MkdirAll(temp, 0o700)
}
