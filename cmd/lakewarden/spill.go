package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lakewarden/lakewarden/api/spill"
)

// newSpill makes the directory for what clients do not read of responses. Files in
// it have a name for a moment only, and a data directory is for one server: what an
// earlier process left is removed.
func newSpill(config Config, registry prometheus.Registerer) (*spill.Store, error) {
	dir := filepath.Join(config.DataDir, "spill")
	err := os.RemoveAll(dir)
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return nil, fmt.Errorf("data_dir: %w", err)
	}
	return spill.New(spill.Options{
		Dir: dir, ServerBytes: config.SpillBytes * mib, OwnerBytes: config.SpillOrgBytes * mib, Registerer: registry,
	}), nil
}
