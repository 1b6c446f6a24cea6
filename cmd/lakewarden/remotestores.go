package main

import (
	"context"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lakewarden/lakewarden/api/ops/lake"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/gateway"
	"github.com/lakewarden/lakewarden/engine/objstore"
)

// readRemotely lets the sessions of an engine read remote stores through a
// gateway, which is closed with the service.
func readRemotely(ctx context.Context, config Config, inner engine.Engine, store configLists, opener lake.Opener, registry prometheus.Registerer, s *service) (engine.Engine, error) {
	dir := filepath.Join(config.DataDir, "cache")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	g, err := gateway.New(gateway.Options{
		MemoryBytes: config.CacheMemory * mib, DiskBytes: config.CacheDisk * mib, Dir: dir, Registerer: registry, Logger: s.log,
	})
	if err != nil {
		return nil, fmt.Errorf("data_dir: %w", err)
	}
	s.onClose(func(context.Context) error { return g.Close() })
	remotely := gateway.NewEngine(inner, g, func(ctx context.Context, owner, bucket string) (gateway.Location, error) {
		id, err := lake.RemoteConfig(bucket)
		if err != nil {
			return gateway.Location{}, err
		}
		now := currentBucket{org: catalog.OrgID(owner), id: id, store: store, opener: opener}
		c, err := now.config(ctx)
		return gateway.Location{Bucket: bucket, Identity: identityOf(c), Store: now, Prefixes: []string{""}}, err
	})
	remotely.RefuseLogs = config.Isolation == isolationNone
	s.every(context.WithoutCancel(ctx), forgetBlocksEvery, func(ctx context.Context) {
		if err := forgetBlocks(ctx, g.Retain, store); err != nil && ctx.Err() == nil {
			s.log.Warn("blocks of deleted storage not dropped", "error", err)
		}
	})
	return remotely, nil
}

// forgetBlocksEvery is how often blocks of deleted configurations are looked for.
// Nobody can read them any more: this is about what lies on disk.
const forgetBlocksEvery = 5 * time.Minute

// configLists are the parts of the catalog that list all configurations.
type configLists interface {
	catalog.StorageConfigs
	catalog.Organisations
}

// identityOf names the place behind a configuration in the cache.
func identityOf(c catalog.StorageConfig) string { return string(c.ID) + " " + string(c.Location) }

// forgetBlocks has a cache keep what it holds of the configurations that are there,
// and nothing of those that are gone, whoever deleted them.
func forgetBlocks(ctx context.Context, retain func(identities []string), store configLists) error {
	ctx = authz.System(ctx, "cached blocks")
	var identities []string
	for page := (catalog.Page{Size: catalog.MaxPageSize}); ; {
		orgs, err := store.ListOrganisations(ctx, page)
		if err != nil {
			return err
		}
		for _, org := range orgs.Items {
			of, err := identitiesOf(ctx, store, org.ID)
			if err != nil {
				return err
			}
			identities = append(identities, of...)
		}
		if page.Token = orgs.Next; page.Token == "" {
			retain(identities)
			return nil
		}
	}
}

func identitiesOf(ctx context.Context, store configLists, org catalog.OrgID) (identities []string, err error) {
	for page := (catalog.Page{Size: catalog.MaxPageSize}); ; {
		configs, err := store.ListStorageConfigs(ctx, catalog.SystemViewer(org), page)
		if err != nil {
			return nil, err
		}
		for _, c := range configs.Items {
			identities = append(identities, identityOf(c))
		}
		if page.Token = configs.Next; page.Token == "" {
			return identities, nil
		}
	}
}

// currentBucket opens a configuration anew for every operation: a session that
// outlives the rotation of its credential reads with the new one, and reads
// nothing once the configuration is deleted.
type currentBucket struct {
	org    catalog.OrgID
	id     catalog.ConfigID
	store  catalog.StorageConfigs
	opener lake.Opener
}

var _ objstore.Bucket = currentBucket{}

func (b currentBucket) config(ctx context.Context) (catalog.StorageConfig, error) {
	return b.store.StorageConfig(authz.System(ctx, "read remote storage"), catalog.SystemViewer(b.org), b.id)
}

func (b currentBucket) open(ctx context.Context) (objstore.Bucket, error) {
	config, err := b.config(ctx)
	if err != nil {
		return nil, err
	}
	return b.opener.Bucket(ctx, config)
}

// Get implements objstore.Bucket.
func (b currentBucket) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	bucket, err := b.open(ctx)
	if err != nil {
		return nil, err
	}
	return bucket.Get(ctx, name)
}

// GetRange implements objstore.Bucket.
func (b currentBucket) GetRange(ctx context.Context, name string, offset, length int64) (io.ReadCloser, error) {
	bucket, err := b.open(ctx)
	if err != nil {
		return nil, err
	}
	return bucket.GetRange(ctx, name, offset, length)
}

// Stat implements objstore.Bucket.
func (b currentBucket) Stat(ctx context.Context, name string) (objstore.Object, error) {
	bucket, err := b.open(ctx)
	if err != nil {
		return objstore.Object{}, err
	}
	return bucket.Stat(ctx, name)
}

// List implements objstore.Bucket.
func (b currentBucket) List(ctx context.Context, prefix string, opts objstore.ListOptions) iter.Seq2[objstore.Object, error] {
	bucket, err := b.open(ctx)
	if err != nil {
		return func(yield func(objstore.Object, error) bool) { yield(objstore.Object{}, err) }
	}
	return bucket.List(ctx, prefix, opts)
}

// Put implements objstore.Bucket.
func (b currentBucket) Put(ctx context.Context, name string, body io.Reader, size int64) error {
	bucket, err := b.open(ctx)
	if err != nil {
		return err
	}
	return bucket.Put(ctx, name, body, size)
}

// PutIfAbsent implements objstore.Bucket.
func (b currentBucket) PutIfAbsent(ctx context.Context, name string, body []byte) error {
	bucket, err := b.open(ctx)
	if err != nil {
		return err
	}
	return bucket.PutIfAbsent(ctx, name, body)
}

// Delete implements objstore.Bucket.
func (b currentBucket) Delete(ctx context.Context, name string) error {
	bucket, err := b.open(ctx)
	if err != nil {
		return err
	}
	return bucket.Delete(ctx, name)
}
