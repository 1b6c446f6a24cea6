package main

import (
	"context"
	"flag"
	"io"
)

func runMigrate(ctx context.Context, _ io.Writer, args []string) error {
	config, err := loadConfig(flag.NewFlagSet("migrate", flag.ContinueOnError), args)
	if err != nil {
		return err
	}
	store, err := openCatalog(ctx, config, newLogger(config))
	if err != nil {
		return err
	}
	return store.Close()
}
