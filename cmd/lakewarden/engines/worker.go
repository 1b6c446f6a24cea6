package engines

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/duckdb"
	"github.com/lakewarden/lakewarden/engine/duckdb/extension"
	"github.com/lakewarden/lakewarden/engine/worker"
)

// WorkerSetup configures the engine of a worker process. It is sent through the
// process's control socket.
type WorkerSetup struct {
	Extensions []extension.Verified `json:"extensions"`
	Lease      engine.Lease         `json:"lease"`
}

// WorkerOptions returns options that start this program as `lakewarden worker`.
func WorkerOptions(setup WorkerSetup) (worker.Options, error) {
	program, err := selfProgram()
	if err != nil {
		return worker.Options{}, err
	}
	text, err := json.Marshal(setup)
	return worker.Options{Command: []string{program, "worker"}, Setup: text}, err
}

// selfProgram returns the file of the running program, even if an upgrade has replaced
// it by another version, whose messages would be incompatible.
func selfProgram() (string, error) {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe", nil
	}
	return os.Executable()
}

// Work runs a worker process until the server ends it. Only the server starts such
// processes.
func Work(ctx context.Context) error {
	// Service managers signal all processes of a service at once. The server then
	// drains and ends its workers afterwards.
	signal.Ignore(os.Interrupt, syscall.SIGTERM)
	control := os.NewFile(worker.ControlFD, "control")
	if info, err := control.Stat(); err != nil || info.Mode()&os.ModeSocket == 0 {
		return errors.New("worker: only the server can start this command")
	}
	return worker.Serve(ctx, control, func(ctx context.Context, text []byte, temp string) (engine.Engine, error) {
		var setup WorkerSetup
		if err := json.Unmarshal(text, &setup); err != nil {
			return nil, fmt.Errorf("setup: %w", err)
		}
		return duckdb.New(ctx, duckdb.Options{Verified: setup.Extensions, TempDir: temp, Lease: setup.Lease})
	})
}
