package bench

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

//go:embed data/logtable.py
var logTableScript string

//go:embed data/logload.py
var logLoadScript string

// LoadCommand is the argument with which the program of a log workload loads
// one snapshot: "load DIRECTORY" prints a [LogLoad] as JSON.
const LoadCommand = "load"

// peerDeltaRS is delta-rs in a Python process.
const peerDeltaRS = "deltars"

// Log describes the table of a log workload.
type Log struct {
	Commits int `json:"commits"`
	// Files is the number of files that each commit adds.
	Files int `json:"files"`
	// Checkpoint says that the last version has a checkpoint.
	Checkpoint bool `json:"checkpoint"`
}

// LogLoad is what a process reports of the snapshot that it loaded.
type LogLoad struct {
	Seconds float64 `json:"seconds"`
	Files   int     `json:"files"`
	// Grown is the growth of the process at its peak, in bytes.
	Grown int64 `json:"grown"`
}

// logLoads loads a table's snapshot in fresh processes, alternately with package
// delta and delta-rs. Only the system's file cache is warm.
func logLoads(ctx context.Context, cfg Config, w Workload, out *Outcome) error {
	table := filepath.Join(cfg.Data, w.Name)
	if err := makeLog(ctx, cfg, *w.Log, table); err != nil {
		return err
	}
	subjects := []struct {
		name string
		args []string
	}{
		{subjectServer, []string{cfg.Loader, LoadCommand, table}},
		{peerDeltaRS, []string{cfg.Python, "-c", logLoadScript, table}},
	}
	seconds, grown := make([]Samples, len(subjects)), make([]Samples, len(subjects))
	for round := range w.Warmup + w.Runs {
		cfg.Progress("%s: round %d", w.Name, round+1)
		for i, s := range subjects {
			loaded, err := loadLog(ctx, cfg, s.args)
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			// A wrong result invalidates the measurement.
			if want := w.Log.Commits * w.Log.Files; loaded.Files != want {
				return fmt.Errorf("%s: %d files of %d", s.name, loaded.Files, want)
			}
			if round >= w.Warmup {
				seconds[i] = append(seconds[i], 1000*loaded.Seconds)
				grown[i] = append(grown[i], megabytes(loaded.Grown))
			}
		}
	}
	for i, s := range subjects {
		out.add("p50."+s.name, seconds[i].Median(), "ms")
		out.add("memory."+s.name, grown[i].Median(), "MiB")
	}
	out.addRelative("ratio."+peerDeltaRS, seconds[0].Median()/seconds[1].Median(), false)
	out.addRelative("memory_ratio."+peerDeltaRS, grown[0].Median()/grown[1].Median(), false)
	return nil
}

func makeLog(ctx context.Context, cfg Config, l Log, table string) error {
	checkpoint := "0"
	if l.Checkpoint {
		checkpoint = "1"
	}
	return script(ctx, cfg, logTableScript, table, strconv.Itoa(l.Commits), strconv.Itoa(l.Files), checkpoint)
}

func loadLog(ctx context.Context, cfg Config, args []string) (LogLoad, error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...) //nolint:gosec // the programs of the run's configuration
	cmd.Env, cmd.Stderr = cfg.Env, os.Stderr
	text, err := cmd.Output()
	if err != nil {
		return LogLoad{}, fmt.Errorf("load a log: %w", err)
	}
	var loaded LogLoad
	if err := json.Unmarshal(text, &loaded); err != nil {
		return LogLoad{}, fmt.Errorf("decode %q: %w", text, err)
	}
	return loaded, nil
}
