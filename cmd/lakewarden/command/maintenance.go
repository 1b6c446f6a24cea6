package command

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"time"

	"github.com/lakewarden/lakewarden/cmd/lakewarden/config"
	"github.com/lakewarden/lakewarden/engine/duckdb/extension"
)

// sessionExtensions are the extensions that the server loads into sessions: httpfs only
// if they read remote stores.
var sessionExtensions = []string{"delta", "httpfs"}

func runExtensions(ctx context.Context, out io.Writer, args []string) error {
	if len(args) == 0 || args[0] != "install" {
		return subcommandUsage(out, args, "lakewarden extensions install [--extension-dir DIR] [NAME...]", "")
	}
	fs := flag.NewFlagSet(config.ExtensionsInstall, flag.ContinueOnError)
	dir := fs.String("extension-dir", "", "where to put the files (default: LAKEWARDEN_EXTENSION_DIR, else extensions in the data directory)")
	settings, err := config.Load(fs, args[1:])
	if err != nil {
		return err
	}
	if *dir == "" {
		*dir = settings.ExtensionDir
	}
	if *dir == "" {
		*dir = filepath.Join(settings.DataDir, "extensions")
	}
	names := fs.Args()
	if len(names) == 0 {
		names = sessionExtensions
	}
	if err := extension.Install(ctx, *dir, names); err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, "extensions are in", *dir)
	return err
}

// runHealthcheck is for containers, which need no other program for the check.
func runHealthcheck(ctx context.Context, _ io.Writer, args []string) error {
	settings, err := config.Load(flag.NewFlagSet("healthcheck", flag.ContinueOnError), args)
	if err != nil {
		return err
	}
	host, port, err := net.SplitHostPort(settings.Listen)
	if err != nil {
		return err
	}
	if host == "" || host == "0.0.0.0" || host == "::" {
		host = "127.0.0.1"
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(host, port)+"/readyz", nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("not ready: status %d", resp.StatusCode)
	}
	return nil
}
