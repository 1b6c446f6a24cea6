package bench

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
)

//go:embed data/tpch.py
var dataScript string

// Prepare makes the tables and statements of the benchmarks, unless they are
// there already.
func Prepare(ctx context.Context, cfg Config) error {
	if err := os.MkdirAll(cfg.Data, 0o755); err != nil {
		return fmt.Errorf("make data folder: %w", err)
	}
	cmd := exec.CommandContext(ctx, cfg.Python, "-c", dataScript, cfg.Data, cfg.Scale, cfg.Extensions)
	cmd.Env = cfg.Env
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("make benchmark data: %w: %s", err, out)
	}
	return nil
}
