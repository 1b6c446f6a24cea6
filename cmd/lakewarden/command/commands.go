package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/lakewarden/lakewarden/api/ops/lake"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/config"
	"github.com/lakewarden/lakewarden/engine/duckdb"
)

// Program is the command line of the server.
type Program struct {
	Version string
	// Serve runs the server.
	Serve func(ctx context.Context, settings config.Settings, version string) error
	// Work runs a worker process.
	Work func(ctx context.Context) error
	// Local returns an opener for local storage and the roots of an organisation.
	Local func(settings config.Settings, store *authz.Store) (lake.Opener, func(context.Context, catalog.OrgID) ([]string, error))
}

type command struct {
	name, summary string
	run           func(ctx context.Context, out io.Writer, args []string) error
}

func (p Program) commands() []command {
	return []command{
		{config.ServeCommand, "Run the server", p.serve},
		{"demo", "Create the demo organisation in the data directory, once", p.demo},
		{"bootstrap", "Create an organisation with its first administrator and an API key", runBootstrap},
		{"user", "Manage users: user add, user key, user bind", runUser},
		{"domain", "Manage e-mail domains: domain verify", runDomain},
		{"migrate", "Create or upgrade the catalog", runMigrate},
		{"keys", "Manage the keys of secrets and access tokens: keys rotate, rotate-signing, wrap, unwrap", runKeys},
		{"extensions", "Manage DuckDB extensions: extensions install", runExtensions},
		{"healthcheck", "Ask a running server whether it is ready", runHealthcheck},
		{"version", "Print the version", p.version},
		{"worker", "", p.work},
	}
}

// Run runs one command with its arguments. Its output goes to out; logs go to stderr.
func (p Program) Run(ctx context.Context, out io.Writer, args []string) error {
	if len(args) == 0 || args[0] == "help" || args[0] == "-h" || args[0] == "--help" {
		p.usage(out)
		return nil
	}
	if args[0] == "--version" || args[0] == "-version" || args[0] == "-v" {
		return p.version(ctx, out, args[1:])
	}
	for _, c := range p.commands() {
		if c.name == args[0] {
			return c.run(ctx, out, args[1:])
		}
	}
	p.usage(os.Stderr)
	return fmt.Errorf("unknown command %q", args[0])
}

func (p Program) usage(w io.Writer) {
	fmt.Fprintln(w, "Usage: lakewarden <command> [flags]\n\nCommands:")
	for _, c := range p.commands() {
		if c.summary != "" { // the others are for internal use
			fmt.Fprintf(w, "  %-12s %s\n", c.name, c.summary)
		}
	}
	fmt.Fprintln(w, "\n\"lakewarden <command> --help\" lists the flags of a command. Every setting can\n"+
		"also come from the environment (LAKEWARDEN_…) or a YAML file (LAKEWARDEN_CONFIG).")
}

func (p Program) serve(ctx context.Context, _ io.Writer, args []string) error {
	settings, err := config.Load(flag.NewFlagSet(config.ServeCommand, flag.ContinueOnError), args)
	if err != nil {
		return err
	}
	return p.Serve(ctx, settings, p.Version)
}

func (p Program) work(ctx context.Context, _ io.Writer, args []string) error {
	if err := flag.NewFlagSet("worker", flag.ContinueOnError).Parse(args); err != nil {
		return err
	}
	return p.Work(ctx)
}

func (p Program) version(_ context.Context, out io.Writer, _ []string) error {
	_, err := fmt.Fprintf(out, "lakewarden %s (DuckDB %s)\n", p.Version, duckdb.Version())
	return err
}

// subcommandUsage handles a call without a subcommand: it prints the usage if help is
// requested, with the details if there are any, and returns an error otherwise.
func subcommandUsage(out io.Writer, args []string, text, details string) error {
	if len(args) > 0 && slices.Contains([]string{"help", "-h", "-help", "--help"}, args[0]) {
		_, err := fmt.Fprintln(out, "Usage: "+text+details)
		return err
	}
	return errors.New("usage: " + text)
}
