package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
)

type command struct {
	name, summary string
	run           func(ctx context.Context, out io.Writer, args []string) error
}

func commands() []command {
	return []command{
		{serveCommand, "Run the server", runServe},
		{"demo", "Create the demo organisation in the data directory, once", runDemo},
		{"bootstrap", "Create an organisation with its first administrator and an API key", runBootstrap},
		{"user", "Manage users: user add, user key", runUser},
		{"migrate", "Create or upgrade the catalog", runMigrate},
		{"keys", "Manage the keys of stored credentials: keys rotate", runKeys},
		{"extensions", "Manage DuckDB extensions: extensions install", runExtensions},
		{"healthcheck", "Ask a running server whether it is ready", runHealthcheck},
		{"version", "Print the version", runVersion},
		{"worker", "", runWorker},
	}
}

func usage(w io.Writer) {
	fmt.Fprintln(w, "Usage: lakewarden <command> [flags]\n\nCommands:")
	for _, c := range commands() {
		if c.summary != "" { // the others are not for people
			fmt.Fprintf(w, "  %-12s %s\n", c.name, c.summary)
		}
	}
	fmt.Fprintln(w, "\n\"lakewarden <command> --help\" lists the flags of a command. Every setting can\nalso come from the environment (LAKEWARDEN_…) or a YAML file (LAKEWARDEN_CONFIG).")
}

// subcommandUsage answers a call without the second word that it needs: a
// person who asks for help gets it, anything else is a mistake.
func subcommandUsage(out io.Writer, args []string, text string) error {
	if len(args) > 0 && slices.Contains([]string{"help", "-h", "-help", "--help"}, args[0]) {
		_, err := fmt.Fprintln(out, "Usage: "+text)
		return err
	}
	return errors.New("usage: " + text)
}
