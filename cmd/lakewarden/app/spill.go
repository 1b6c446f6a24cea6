package app

import (
	"fmt"
	"path/filepath"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lakewarden/lakewarden/api/spill"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/config"
)

// newSpill makes the directory for what clients do not read of responses. It removes
// files of earlier processes: a data directory belongs to one server, whose files have
// a name only for a moment.
func newSpill(settings config.Settings, registry prometheus.Registerer) (*spill.Store, error) {
	dir := filepath.Join(settings.DataDir, "spill")
	if err := recreate(dir); err != nil {
		return nil, fmt.Errorf("data_dir: %w", err)
	}
	return spill.New(spill.Options{
		Dir: dir, ServerBytes: settings.SpillBytes * mib, OwnerBytes: settings.SpillOrgBytes * mib, Registerer: registry,
	}), nil
}
