package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/duckdb"
	"github.com/lakewarden/lakewarden/engine/worker"
)

// Where the engine runs.
const (
	isolationProcess = "process"
	isolationNone    = "none"
)

// newEngine verifies the engine's files, attacks both walls, and returns what
// sessions are opened in: child processes, one for each organisation, or this
// process.
func newEngine(ctx context.Context, config Config, parser *duckdb.Parser, registry prometheus.Registerer, s *service) (engine.Engine, error) {
	temp := filepath.Join(config.DataDir, "tmp")
	if err := os.MkdirAll(temp, 0o700); err != nil {
		return nil, err
	}
	here, err := duckdb.New(ctx, duckdb.Options{ExtensionDirs: config.extensionDirs(), TempDir: temp})
	if err != nil {
		return nil, err
	}
	if err := probeSandbox(ctx, here, parser); err != nil {
		return nil, errors.Join(err, here.Close())
	}
	if config.Isolation == isolationNone {
		s.onClose(func(context.Context) error { return here.Close() })
		return here, nil
	}
	opts, err := workerOptions(workerSetup{Extensions: here.Verified()})
	if err = errors.Join(err, here.Close()); err != nil {
		return nil, err
	}
	opts.TempDir, opts.Logger, opts.Registerer = temp, s.log, registry
	there, err := worker.New(opts)
	if err != nil {
		return nil, err
	}
	s.onClose(func(context.Context) error { return there.Close() })
	return there, nil
}
