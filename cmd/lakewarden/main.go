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

type command struct {
	name, summary string
	run           func(ctx context.Context, out io.Writer, args []string) error
}

func commands() []command {
	return []command{
		{"serve", "Run the server", runServe},
		{"demo", "Create the demo organisation in the data directory, once", runDemo},
		{"bootstrap", "Create an organisation with its first administrator and an API key", runBootstrap},
		{"user", "Manage users: user add", runUser},
		{"migrate", "Create or upgrade the catalog", runMigrate},
		{"extensions", "Manage DuckDB extensions: extensions install", runExtensions},
		{"healthcheck", "Ask a running server whether it is ready", runHealthcheck},
		{"version", "Print the version", runVersion},
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := dispatch(ctx, os.Stdout, os.Args[1:])
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
	for _, c := range commands() {
		if c.name == args[0] {
			return c.run(ctx, out, args[1:])
		}
	}
	usage(os.Stderr)
	return fmt.Errorf("unknown command %q", args[0])
}

func usage(w io.Writer) {
	fmt.Fprintln(w, "Usage: lakewarden <command> [flags]\n\nCommands:")
	for _, c := range commands() {
		fmt.Fprintf(w, "  %-12s %s\n", c.name, c.summary)
	}
	fmt.Fprintln(w, "\n\"lakewarden <command> --help\" lists the flags of a command. Every setting can\nalso come from the environment (LAKEWARDEN_…) or a YAML file (LAKEWARDEN_CONFIG).")
}
