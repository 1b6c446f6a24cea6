package engines

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lakewarden/lakewarden/api/ops/query"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/config"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/lifecycle"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/duckdb"
	"github.com/lakewarden/lakewarden/engine/worker"
)

// New verifies the engine's files, attacks both barriers, and returns the engine
// for sessions: child processes, one for each organisation, or this process.
func New(
	ctx context.Context, settings config.Settings, parser *duckdb.Parser, registry prometheus.Registerer, log *slog.Logger,
	parts *lifecycle.Group,
) (engine.Engine, error) {
	temp := filepath.Join(settings.DataDir, "tmp")
	if err := os.MkdirAll(temp, 0o700); err != nil {
		return nil, err
	}
	here, err := duckdb.New(ctx, duckdb.Options{ExtensionDirs: settings.ExtensionDirs(), TempDir: temp})
	if err != nil {
		return nil, err
	}
	// The server does not start unless both barriers hold: the guard against
	// statements, and the engine's own sandbox against settings and files.
	if err = query.SelfTest(ctx, parser); err == nil {
		err = here.Probe(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, here.Close())
	}
	if settings.Isolation == config.IsolationNone {
		parts.OnClose(func(context.Context) error { return here.Close() })
		return here, nil
	}
	opts, err := WorkerOptions(WorkerSetup{Extensions: here.Verified()})
	if err = errors.Join(err, here.Close()); err != nil {
		return nil, err
	}
	opts.TempDir, opts.Logger, opts.Registerer = temp, log, registry
	there, err := worker.New(opts)
	if err != nil {
		return nil, err
	}
	parts.OnClose(func(context.Context) error { return there.Close() })
	return there, nil
}
