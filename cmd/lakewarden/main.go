// Command lakewarden puts governance in front of Delta Lake tables in object
// storage. The command line is in command, the settings are in config, and app
// builds the server.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/lakewarden/lakewarden/cmd/lakewarden/app"
)

// version is set by the linker.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := exceptLoopback()
	if err == nil {
		err = app.Main(ctx, version)
	}
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "lakewarden:", err)
		os.Exit(1)
	}
}
