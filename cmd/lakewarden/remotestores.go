package main

import (
	"context"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lakewarden/lakewarden/api/ops"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/gateway"
	"github.com/lakewarden/lakewarden/engine/objstore"
)

// readRemotely lets the sessions of an engine read remote stores through a
// gateway, which is closed with the service.
func readRemotely(config Config, inner engine.Engine, store catalog.StorageConfigs, opener ops.Opener, registry prometheus.Registerer, s *service) (engine.Engine, error) {
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
		id, err := ops.RemoteConfig(bucket)
		if err != nil {
			return gateway.Location{}, err
		}
		now := currentBucket{org: catalog.OrgID(owner), id: id, store: store, opener: opener}
		c, err := now.config(ctx)
		return gateway.Location{Bucket: bucket, Identity: string(c.ID) + " " + string(c.Location), Store: now, Prefixes: []string{""}}, err
	})
	remotely.RefuseLogs = config.Isolation == isolationNone
	return remotely, nil
}

// currentBucket opens a configuration anew for every operation: a session that
// lives on after its credential was rotated reads with the new one, and reads
// nothing once the configuration is gone.
type currentBucket struct {
	org    catalog.OrgID
	id     catalog.ConfigID
	store  catalog.StorageConfigs
	opener ops.Opener
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
