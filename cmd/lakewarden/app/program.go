package app

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/lakewarden/lakewarden/cmd/lakewarden/command"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/engines"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/stores"
)

// Main runs the command named by the arguments of the process until it ends or a signal
// stops the process. It returns the exit code.
func Main(version string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := engines.ExceptLoopback()
	if err == nil {
		program := command.Program{Version: version, Serve: Serve, Work: engines.Work, Local: stores.Local}
		err = program.Run(ctx, os.Stdout, os.Args[1:])
	}
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "lakewarden:", err)
		return 1
	}
	return 0
}
