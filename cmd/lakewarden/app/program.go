package app

import (
	"context"
	"os"

	"github.com/lakewarden/lakewarden/cmd/lakewarden/command"
)

// Main runs the command that the arguments of the process name.
func Main(ctx context.Context, version string) error {
	program := command.Program{Version: version, Serve: Serve, Work: Work, Local: Local}
	return program.Run(ctx, os.Stdout, os.Args[1:])
}
