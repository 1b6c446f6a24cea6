package stores

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lakewarden/lakewarden/api/ops/deletion"
	"github.com/lakewarden/lakewarden/api/ops/lake"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/config"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/lifecycle"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/gateway"
	"github.com/lakewarden/lakewarden/engine/objstore"
)

// NewGatewayEngine returns inner with sessions that read remote stores through a gateway,
// which is closed with parts.
func NewGatewayEngine(
	ctx context.Context, settings config.Settings, inner engine.Engine, store configLister, opener lake.Opener,
	deletions *deletion.Deletions, registry prometheus.Registerer, log *slog.Logger, parts *lifecycle.Group,
) (engine.Engine, error) {
	dir := filepath.Join(settings.DataDir, "cache")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	g, err := gateway.New(gateway.Options{
		MemoryBytes: settings.CacheMemory * config.MiB, DiskBytes: settings.CacheDisk * config.MiB, Dir: dir, Registerer: registry, Logger: log,
	})
	if err != nil {
		return nil, fmt.Errorf("data_dir: %w", err)
	}
	parts.OnClose(func(context.Context) error { return g.Close() })
	deletions.Add(func(_ context.Context, dropped deletion.Dropped) error {
		g.Forget(func(identity, name string) bool { return dropped.Covers(configOf(identity), name) })
		return nil
	})
	remotely := gateway.NewEngine(inner, g, func(ctx context.Context, owner, bucket string) (gateway.Location, error) {
		id, err := lake.RemoteConfig(bucket)
		if err != nil {
			return gateway.Location{}, err
		}
		current := func(ctx context.Context) (catalog.StorageConfig, error) {
			return store.StorageConfig(authz.System(ctx, "read remote storage"), catalog.SystemViewer(catalog.OrgID(owner)), id)
		}
		// A session that outlives a rotation reads with the new credential, and one
		// that outlives the configuration can read nothing.
		reopened := objstore.Reopen(func(ctx context.Context) (objstore.Bucket, error) {
			c, err := current(ctx)
			if err != nil {
				return nil, err
			}
			return opener.Bucket(ctx, c)
		})
		c, err := current(ctx)
		return gateway.Location{Bucket: bucket, Identity: identityOf(c), Store: reopened, Prefixes: []string{""}}, err
	})
	remotely.RefuseLogs = settings.Isolation == config.IsolationNone
	parts.Every(context.WithoutCancel(ctx), forgetBlocksEvery, func(ctx context.Context) {
		g.Expire()
		if err := forgetBlocks(ctx, g.Forget, store); err != nil && ctx.Err() == nil {
			log.Warn("blocks of deleted storage not dropped", "error", err)
		}
	})
	return remotely, nil
}

// forgetBlocksEvery is the interval in which blocks of deleted configurations are dropped, which
// can no longer be read, and blocks that their store was not asked about for too long.
const forgetBlocksEvery = 5 * time.Minute

// configLister is the part of the catalog that lists all configurations.
type configLister interface {
	catalog.StorageConfigs
	catalog.Organisations
}

// identityOf returns the identity of a configuration's location in the cache.
func identityOf(c catalog.StorageConfig) string { return string(c.ID) + " " + string(c.Location) }

// configOf returns the configuration of an identity.
func configOf(identity string) catalog.ConfigID {
	id, _, _ := strings.Cut(identity, " ")
	return catalog.ConfigID(id)
}

// forgetBlocks removes the blocks of deleted configurations from a cache.
func forgetBlocks(ctx context.Context, forget func(match func(identity, name string) bool), store configLister) error {
	existing := map[string]bool{}
	for c, err := range catalog.AllStorageConfigs(authz.System(ctx, "cached blocks"), store) {
		if err != nil {
			return err
		}
		existing[identityOf(c)] = true
	}
	forget(func(identity, _ string) bool { return !existing[identity] })
	return nil
}
