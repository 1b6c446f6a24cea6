package app

import (
	"context"
	"log/slog"

	"github.com/lakewarden/lakewarden/api/ops/caller"
	storageops "github.com/lakewarden/lakewarden/api/ops/storage"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/config"
)

// newSharing returns the attach of storage configurations. Their tables are discovered in
// the background.
func newSharing(
	background context.Context, settings config.Settings, store *authz.Store, discovery storageops.Discovery, auditor *caller.Auditor,
	log *slog.Logger, s *Service,
) storageops.Sharing {
	refresher := storageops.NewRefresher(discovery, log)
	s.background(background, refresher.Run)
	return storageops.Sharing{Store: store, Audit: auditor, Window: settings.UndoWindow, Refresh: refresher.Refresh}
}
