package command

import (
	"context"
	"flag"
	"fmt"
	"io"

	"github.com/lakewarden/lakewarden/catalog/secret"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/config"
)

// runKeys manages the key file. A rotation does not remove old keys, because stored
// secrets need them.
func runKeys(_ context.Context, out io.Writer, args []string) error {
	if len(args) == 0 || args[0] != "rotate" {
		return subcommandUsage(out, args, "lakewarden keys rotate")
	}
	settings, err := config.Load(flag.NewFlagSet("keys rotate", flag.ContinueOnError), args[1:])
	if err != nil {
		return err
	}
	keys, err := secret.Load(settings.KeyFile)
	if err == nil {
		err = keys.Rotate()
	}
	if err != nil {
		return fmt.Errorf("key_file: %w", err)
	}
	fmt.Fprintln(out, "A key was added. Credentials are sealed with it after the next start of each server.")
	return nil
}
