package bench

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
)

//go:embed data/tpch.py
var dataScript string

//go:embed data/commits.py
var commitsScript string

// commits is the number of commits of the table in folderCommits.
const commits = 500

// Prepare creates the tables and statements of workloads if they do not exist.
func Prepare(ctx context.Context, cfg Config, workloads []Workload) error {
	if err := os.MkdirAll(cfg.Data, 0o755); err != nil {
		return fmt.Errorf("make data folder: %w", err)
	}
	if !slices.ContainsFunc(workloads, Workload.prepared) {
		return nil // each run creates its own
	}
	if err := script(ctx, cfg, dataScript, cfg.Data, cfg.Scale, cfg.Extensions); err != nil {
		return err
	}
	if !slices.ContainsFunc(workloads, func(w Workload) bool { return w.folder() == folderCommits }) {
		return nil
	}
	return makeCommits(ctx, cfg, commits)
}

// makeCommits creates a table with that many commits.
func makeCommits(ctx context.Context, cfg Config, commits int) error {
	return script(ctx, cfg, commitsScript, filepath.Join(cfg.Data, folderCommits), strconv.Itoa(commits))
}

func script(ctx context.Context, cfg Config, text string, args ...string) error {
	cmd := exec.CommandContext(ctx, cfg.Python, append([]string{"-c", text}, args...)...)
	cmd.Env = cfg.Env
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("make benchmark data: %w: %s", err, out)
	}
	return nil
}
