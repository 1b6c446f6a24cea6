package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/lakewarden/lakewarden/bench"
)

const usage = `usage: bench COMMAND

  run      measure and write a report (bench run -h lists its flags)
  compare  OLD NEW: flag metrics that became more than 15 % worse
  list     the workloads
  load     DIRECTORY: what loading the snapshot of a Delta table takes`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := dispatch(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		os.Exit(1)
	}
}

func dispatch(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 0 {
		return errors.New(usage)
	}
	switch args[0] {
	case "run":
		return run(ctx, args[1:], out)
	case "compare":
		return compare(args[1:], out)
	case "list":
		return list(out)
	case bench.LoadCommand:
		return load(ctx, args[1:], out)
	default:
		return fmt.Errorf("unknown command %q\n%s", args[0], usage)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("run", flag.ExitOnError)
	var (
		choice = flags.String("workload", "all", "names or tags, separated by commas")
		report = flags.String("report", "docs/reports/bench", "folder of the report; compared with the report that it holds")
		strict = flags.Bool("strict", false, "fail when a target is missed or a metric became slower")
		cfg    = bench.Config{Env: os.Environ(), Threads: runtime.NumCPU()}
	)
	flags.StringVar(&cfg.Lakewarden, "lakewarden", "bin/lakewarden", "the server's binary")
	flags.StringVar(&cfg.Python, "python", or(os.Getenv("LAKEWARDEN_TEST_PYTHON"), "bin/venv/bin/python"), "Python with duckdb and deltalake")
	flags.StringVar(&cfg.Roapi, "roapi", "", "roapi's binary (default: next to Python)")
	flags.StringVar(&cfg.Versitygw, "versitygw", or(os.Getenv("LAKEWARDEN_TEST_VERSITYGW"), "bin/versitygw"),
		"the S3 server of remote workloads")
	flags.StringVar(&cfg.Azurite, "azurite",
		or(os.Getenv("LAKEWARDEN_TEST_AZURITE"), "bin/azurite/node_modules/azurite/dist/src/blob/main.js"),
		"the script of Azurite's blob service")
	flags.StringVar(&cfg.FakeGCS, "fake-gcs", or(os.Getenv("LAKEWARDEN_TEST_FAKE_GCS"), "bin/fake-gcs-server"),
		"the server of Google Cloud Storage")
	flags.StringVar(&cfg.Rclone, "rclone", or(os.Getenv("LAKEWARDEN_TEST_RCLONE"), "bin/rclone"), "the peer of moves")
	flags.Int64Var(&cfg.ObjectBytes, "object-bytes", 0,
		"maximum size of an object of move workloads (default: that of the workload)")
	flags.Uint64Var(&cfg.Seed, "seed", 0, "seed of the tables of analysis workloads (default: that of the workload, for final measurements)")
	flags.StringVar(&cfg.Extensions, "extensions", or(os.Getenv("LAKEWARDEN_EXTENSION_DIR"), "bin/extensions"), "DuckDB's extension directory")
	flags.StringVar(&cfg.Flights, "flights", "cmd/lakewarden/command/demodata/flights.parquet", "a Parquet file of flights")
	flags.StringVar(&cfg.Data, "data", "bin/bench-data", "folder of the tables")
	flags.StringVar(&cfg.Scale, "scale", "1", "TPC-H scale factor")
	if err := flags.Parse(args); err != nil {
		return err
	}
	cfg.Progress = func(format string, args ...any) {
		fmt.Fprintf(out, time.Now().Format("15:04:05 ")+format+"\n", args...)
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	cfg.Loader = self
	if cfg.Roapi == "" {
		cfg.Roapi = filepath.Join(filepath.Dir(cfg.Python), "roapi")
	}
	for _, path := range []*string{&cfg.Lakewarden, &cfg.Python, &cfg.Roapi, &cfg.Versitygw, &cfg.Azurite, &cfg.FakeGCS, &cfg.Rclone,
		&cfg.Extensions, &cfg.Flights, &cfg.Data} {
		absolute, err := filepath.Abs(*path)
		if err != nil {
			return fmt.Errorf("resolve %s: %w", *path, err)
		}
		*path = absolute
	}
	return measure(ctx, cfg, *choice, *report, *strict, out)
}

func measure(ctx context.Context, cfg bench.Config, choice, folder string, strict bool, out io.Writer) error {
	all, err := bench.Workloads()
	if err != nil {
		return err
	}
	chosen, err := bench.Select(all, choice)
	if err != nil {
		return err
	}
	before, found, err := bench.Previous(folder)
	if err != nil {
		return err
	}
	version, err := exec.CommandContext(ctx, cfg.Lakewarden, "version").Output()
	if err != nil {
		return fmt.Errorf("ask %s for its version: %w", cfg.Lakewarden, err)
	}
	cfg.Progress("data in %s", cfg.Data)
	if err := bench.Prepare(ctx, cfg, chosen); err != nil {
		return err
	}

	report := bench.Report{
		Version: strings.TrimSpace(string(version)), Taken: time.Now(),
		Machine: bench.ThisMachine(), Scale: cfg.Scale,
	}
	for _, w := range chosen {
		cfg.Progress("%s", w.Name)
		report.Outcomes = append(report.Outcomes, bench.Run(ctx, cfg, w))
	}
	var changes []bench.Change
	if found {
		changes = bench.Compare(before, report)
	}
	if err := report.Write(folder, changes); err != nil {
		return err
	}
	fmt.Fprint(out, report.Markdown(changes))
	return verdict(report, changes, strict)
}

// verdict returns an error for a report with failed measurements and, if strict, with
// missed targets or slower metrics.
func verdict(report bench.Report, changes []bench.Change, strict bool) error {
	var problems []error
	for _, o := range report.Outcomes {
		if o.Error != "" {
			problems = append(problems, fmt.Errorf("%s: %s", o.Workload, o.Error))
			continue
		}
		for _, c := range o.Checks {
			if strict && !c.OK {
				problems = append(problems, fmt.Errorf("%s: target missed: %s is %g", o.Workload, c.Metric, c.Value))
			}
		}
	}
	for _, c := range changes {
		if strict && c.Flagged {
			problems = append(problems, fmt.Errorf("%s: %s went from %g to %g %s", c.Workload, c.Metric, c.Before, c.After, c.Unit))
		}
	}
	return errors.Join(problems...)
}

func compare(args []string, out io.Writer) error {
	if len(args) != 2 {
		return errors.New("compare takes two reports: OLD NEW")
	}
	before, err := bench.ReadReport(args[0])
	if err != nil {
		return err
	}
	after, err := bench.ReadReport(args[1])
	if err != nil {
		return err
	}
	changes := bench.Compare(before, after)
	fmt.Fprint(out, after.Markdown(changes))
	return verdict(bench.Report{}, changes, true)
}

func list(out io.Writer) error {
	all, err := bench.Workloads()
	if err != nil {
		return err
	}
	for _, w := range all {
		fmt.Fprintf(out, "%-20s %-24s %s\n", w.Name, strings.Join(w.Tags, ","), w.Title)
	}
	return nil
}

func or(value, otherwise string) string {
	if value == "" {
		return otherwise
	}
	return value
}
