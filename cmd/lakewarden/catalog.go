package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/lakewarden/lakewarden/catalog/sqlstore"
)

// openCatalog opens the catalog and brings its schema up to date.
func openCatalog(ctx context.Context, config Config, log *slog.Logger) (*sqlstore.Store, error) {
	url := config.DatabaseURL
	if url == "" {
		if err := os.MkdirAll(config.DataDir, 0o700); err != nil {
			return nil, fmt.Errorf("data_dir: %w", err)
		}
		path := filepath.Join(config.DataDir, "catalog.db")
		if err := makePrivate(path); err != nil {
			return nil, fmt.Errorf("data_dir: %w", err)
		}
		url = "sqlite:" + path
	}
	return sqlstore.Open(ctx, url, sqlstore.Options{Logger: log})
}

// makePrivate makes an empty file for the server's user only, unless there is a
// file. The database gives its mode to the files that it makes beside it.
func makePrivate(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}
