package app

import (
	"fmt"
	"path/filepath"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lakewarden/lakewarden/api/spill"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/config"
)

// newSpill creates the directory for unread parts of responses and removes files of
// earlier processes. A data directory belongs to one server, whose files are unlinked
// right after their creation.
func newSpill(settings config.Settings, registry prometheus.Registerer) (*spill.Store, error) {
	dir := filepath.Join(settings.DataDir, "spill")
	if err := recreate(dir); err != nil {
		return nil, fmt.Errorf("data_dir: %w", err)
	}
	return spill.New(spill.Options{
		Dir: dir, ServerBytes: settings.SpillBytes * config.MiB, OwnerBytes: settings.SpillOrgBytes * config.MiB, Registerer: registry,
	}), nil
}
