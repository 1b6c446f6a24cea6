package main

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lakewarden/lakewarden/api/ops"
	"github.com/lakewarden/lakewarden/catalog/authz"
)

// newWrites makes the directory in which rows wait for their commit, one of this
// process. What an earlier process left there is nobody's any more: a data
// directory is for one server.
func newWrites(config Config, store *authz.Store, queries *ops.Queries, registry *prometheus.Registry, log *slog.Logger) (ops.Writes, error) {
	dir, err := filepath.Abs(filepath.Join(config.DataDir, "writes"))
	if err == nil {
		err = os.RemoveAll(dir)
	}
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return ops.Writes{}, fmt.Errorf("data_dir: %w", err)
	}
	return ops.Writes{
		Queries: queries, Permissions: store, Leases: ops.WriteLeases{Store: store, Logger: log}, Metrics: ops.NewWriteMetrics(registry),
		Scratch: dir, StagedBytes: config.TempBytes * mib, Timeout: config.MaxTimeout,
	}, nil
}
