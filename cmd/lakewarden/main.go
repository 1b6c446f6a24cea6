// Command lakewarden puts governance in front of Delta Lake tables in object
// storage. This package is wiring: configuration, the command line, and the
// construction of the server. Nothing is decided here.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// version is set by the linker.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := exceptLoopback()
	if err == nil {
		err = dispatch(ctx, os.Stdout, os.Args[1:])
	}
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "lakewarden:", err)
		os.Exit(1)
	}
}

// dispatch runs one command. Its output goes to out; logs go to stderr.
func dispatch(ctx context.Context, out io.Writer, args []string) error {
	if len(args) == 0 || args[0] == "help" || args[0] == "-h" || args[0] == "--help" {
		usage(out)
		return nil
	}
	if args[0] == "--version" || args[0] == "-version" || args[0] == "-v" {
		return runVersion(ctx, out, args[1:])
	}
	for _, c := range commands() {
		if c.name == args[0] {
			return c.run(ctx, out, args[1:])
		}
	}
	usage(os.Stderr)
	return fmt.Errorf("unknown command %q", args[0])
}
