package storage

import (
	"context"
	"log/slog"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
)

// maxRefreshes bounds the configurations that wait for a refresh. A further one is left to
// the periodic discovery.
const maxRefreshes = 64

// Refresher discovers the tables of configurations in the background, one after the other.
type Refresher struct {
	discovery Discovery
	log       *slog.Logger
	due       chan catalog.StorageConfig
}

// NewRefresher returns a Refresher that discovers nothing before [Refresher.Run].
func NewRefresher(discovery Discovery, log *slog.Logger) *Refresher {
	return &Refresher{discovery: discovery, log: log, due: make(chan catalog.StorageConfig, maxRefreshes)}
}

// Refresh has the tables of a configuration discovered soon. It does not block.
func (r *Refresher) Refresh(config catalog.StorageConfig) {
	select {
	case r.due <- config:
	default:
	}
}

// Run discovers tables until ctx ends.
func (r *Refresher) Run(ctx context.Context) {
	ctx = authz.System(ctx, "discovery after an attach")
	for {
		select {
		case <-ctx.Done():
			return
		case config := <-r.due:
			_, err := r.discovery.discover(ctx, catalog.SystemViewer(config.Org), config, false, nil)
			if err != nil && ctx.Err() == nil {
				r.log.Warn("discovery after an attach", "config", config.ID, "error", err)
			}
		}
	}
}
