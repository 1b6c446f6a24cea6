package app

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lakewarden/lakewarden/api/ops/infer"
	"github.com/lakewarden/lakewarden/api/ops/query"
	"github.com/lakewarden/lakewarden/api/ops/write"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/config"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/lifecycle"
)

// forgetKeysEvery is how often the keys of old requests are removed.
const forgetKeysEvery = time.Hour

// newWrites creates the directory in which rows wait for their commit. A data directory
// belongs to one server, so files of earlier processes are removed.
func newWrites(
	background context.Context, settings config.Settings, store *authz.Store, queries *query.Service, leases write.Leases,
	registry *prometheus.Registry, log *slog.Logger, parts *lifecycle.Group,
) (write.Service, error) {
	dir, err := filepath.Abs(filepath.Join(settings.DataDir, "writes"))
	if err == nil {
		err = recreate(dir)
	}
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return write.Service{}, fmt.Errorf("data_dir: %w", err)
	}
	writes := write.Service{
		Store: store, Tables: queries.Tables, Domains: write.NewDomains(store, queries.Tables), Queries: queries,
		Parser: queries.Plans.Parser(), Pool: queries.Pool,
		Confirmed: queries.Confirmed, Revocations: queries.Revocations, Audit: queries.Audit,
		Leases: leases, Metrics: write.NewMetrics(registry), Refusals: write.NewRefusals(queries.Audit, registry), Logger: log,
		Scratch: dir, StagedBytes: settings.TempBytes * config.MiB, BodyRows: settings.BodyRows, Timeout: settings.MaxTimeout,
	}
	parts.Every(background, forgetKeysEvery, func(ctx context.Context) {
		if err := writes.SweepKeys(ctx); err != nil && ctx.Err() == nil {
			log.Warn("expired idempotency keys not removed", "error", err)
		}
	})
	return writes, nil
}

// newInference stores uploads where rows wait for their commit, under the same limits.
func newInference(settings config.Settings, store *authz.Store, queries *query.Service, writes write.Service) infer.Service {
	return infer.Service{
		Store: store, Tables: queries.Tables, Pool: queries.Pool, Confirmed: queries.Confirmed, Revocations: queries.Revocations,
		Scratch: writes.Scratch, Bytes: writes.StagedBytes, BodyRows: settings.BodyRows, Timeout: settings.MaxTimeout,
	}
}

// recreate makes dir an empty directory that only this user can access.
func recreate(dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	return os.MkdirAll(dir, 0o700)
}
