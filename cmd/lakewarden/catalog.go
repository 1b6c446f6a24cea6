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
		url = "sqlite:" + filepath.Join(config.DataDir, "catalog.db")
	}
	return sqlstore.Open(ctx, url, sqlstore.Options{Logger: log})
}
