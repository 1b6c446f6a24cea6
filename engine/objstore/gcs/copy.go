package gcs

import (
	"context"

	"cloud.google.com/go/storage"

	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/remote"
)

var _ objstore.Copier = (*Bucket)(nil)

// CopyFrom implements objstore.Copier by rewrites: a large object takes several requests, each of
// which continues where the last one ended.
func (b *Bucket) CopyFrom(ctx context.Context, source objstore.Bucket, from objstore.Object, name string) (bool, error) {
	if err := remote.Check(ctx, objstore.OpCopy, name); err != nil {
		return false, err
	}
	origin, ok := source.(*Bucket)
	if !ok || origin.base != b.base {
		return false, nil
	}
	if b.key == "" || b.key != origin.key {
		// The credential of this bucket may read more than the source's own.
		if _, err := origin.Stat(ctx, from.Name); err != nil {
			return false, err
		}
	}
	target := b.handle.Object(name).If(storage.Conditions{DoesNotExist: true}).Retryer(storage.WithErrorFunc(repeatable))
	var cause error
	_, err := remote.Write(ctx, objstore.OpCopy, name, translate, func(ctx context.Context) error {
		_, cause = target.CopierFrom(origin.handle.Object(from.Name)).Run(ctx)
		return cause
	})
	return err == nil, b.missing(ctx, cause, origin.missing(ctx, cause, err))
}
