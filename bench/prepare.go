package bench

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
)

//go:embed data/tpch.py
var dataScript string

//go:embed data/tpcds.py
var tpcdsScript string

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
	reads := func(folder string) bool {
		return slices.ContainsFunc(workloads, func(w Workload) bool { return w.folder() == folder })
	}
	if reads(folderTPCDS) {
		if err := makeTPCDS(ctx, cfg); err != nil {
			return err
		}
	}
	if !reads(folderCommits) {
		return nil
	}
	return makeCommits(ctx, cfg, commits)
}

// makeTPCDS creates the tables of TPC-DS, and those of the rows that the filters show.
func makeTPCDS(ctx context.Context, cfg Config) error {
	filters, err := Filters()
	if err != nil {
		return err
	}
	predicates := map[string]string{}
	for _, f := range filters {
		if f.Folder == folderTPCDS {
			predicates[f.Table] = f.SQL
		}
	}
	text, err := json.Marshal(predicates)
	if err != nil {
		return fmt.Errorf("encode filters: %w", err)
	}
	return script(ctx, cfg, tpcdsScript, cfg.Data, cfg.Scale, cfg.Extensions, string(text))
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
