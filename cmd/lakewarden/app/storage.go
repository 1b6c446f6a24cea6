package app

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/caller"
	storageops "github.com/lakewarden/lakewarden/api/ops/storage"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/config"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/lifecycle"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/stores"
)

// newStorageConfigs returns the use cases of storage configurations.
func newStorageConfigs(
	store *authz.Store, tables access.Tables, buckets stores.Buckets, discovery storageops.Discovery, auditor *caller.Auditor,
) storageops.Configs {
	return storageops.Configs{
		Discovery: discovery, Store: store, Tables: tables, LocalRoots: buckets.Roots.For, Kinds: buckets.Remote.Kinds, Seal: buckets.Remote.Seal,
		Ambient: buckets.Remote.Ambient, Audit: auditor, Now: time.Now,
	}
}

// countCredentialsEvery is the interval in which ending credentials are counted.
const countCredentialsEvery = 5 * time.Minute

// countCredentials counts ending credentials at the start and from time to time.
func countCredentials(ctx context.Context, store *authz.Store, registry prometheus.Registerer, log *slog.Logger, parts *lifecycle.Group) {
	expiry := storageops.NewExpiry(store, time.Now, registry)
	parts.Repeat(ctx, countCredentialsEvery, func(ctx context.Context) {
		if err := expiry.Update(ctx); err != nil && ctx.Err() == nil {
			log.Warn("ending credentials not counted", "error", err)
		}
	})
}

// newSharing returns the attach of storage configurations. Their tables are discovered in
// the background.
func newSharing(
	background context.Context, settings config.Settings, store *authz.Store, tables access.Tables, discovery storageops.Discovery,
	auditor *caller.Auditor, log *slog.Logger, parts *lifecycle.Group,
) storageops.Sharing {
	refresher := storageops.NewRefresher(discovery, log)
	parts.Background(background, refresher.Run)
	return storageops.Sharing{Store: store, Tables: tables, Audit: auditor, Window: settings.UndoWindow, Refresh: refresher.Refresh}
}
