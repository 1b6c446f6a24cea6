package command

import (
	"context"
	"flag"
	"io"

	"github.com/lakewarden/lakewarden/cmd/lakewarden/config"
)

func runMigrate(ctx context.Context, _ io.Writer, args []string) error {
	settings, err := config.Load(flag.NewFlagSet("migrate", flag.ContinueOnError), args)
	if err != nil {
		return err
	}
	store, err := openCatalog(ctx, settings)
	if err != nil {
		return err
	}
	return store.Close()
}
