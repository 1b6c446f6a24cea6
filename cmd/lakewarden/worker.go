package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/duckdb"
	"github.com/lakewarden/lakewarden/engine/duckdb/extension"
	"github.com/lakewarden/lakewarden/engine/worker"
)

// workerSetup is what a worker process makes its engine from. It travels through
// the process's control socket.
type workerSetup struct {
	Extensions []extension.Verified `json:"extensions"`
	Lease      engine.Lease         `json:"lease"`
}

// workerOptions start this very program as `lakewarden worker`.
func workerOptions(setup workerSetup) (worker.Options, error) {
	program, err := selfProgram()
	if err != nil {
		return worker.Options{}, err
	}
	text, err := json.Marshal(setup)
	return worker.Options{Command: []string{program, "worker"}, Setup: text}, err
}

// selfProgram is the file of the running program: also when an upgrade has put
// another one in its place, whose messages this one would not understand.
func selfProgram() (string, error) {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe", nil
	}
	return os.Executable()
}

// runWorker is the child's end of an engine in processes. The server starts it;
// by hand it does nothing.
func runWorker(ctx context.Context, _ io.Writer, args []string) error {
	fs := flag.NewFlagSet("worker", flag.ContinueOnError)
	if err := fs.Parse(args); err != nil {
		return err
	}
	// Whoever stops a service signals all of its processes at once. The server
	// drains then, and its workers with it; they go when it lets them go.
	signal.Ignore(os.Interrupt, syscall.SIGTERM)
	control := os.NewFile(worker.ControlFD, "control")
	if info, err := control.Stat(); err != nil || info.Mode()&os.ModeSocket == 0 {
		return errors.New("worker: started by the server only")
	}
	return worker.Serve(ctx, control, func(ctx context.Context, text []byte, temp string) (engine.Engine, error) {
		var setup workerSetup
		if err := json.Unmarshal(text, &setup); err != nil {
			return nil, fmt.Errorf("setup: %w", err)
		}
		return duckdb.New(ctx, duckdb.Options{Verified: setup.Extensions, TempDir: temp, Lease: setup.Lease})
	})
}
