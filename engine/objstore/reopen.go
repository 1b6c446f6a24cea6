package objstore

import (
	"context"
	"io"
	"iter"
)

// Reopen returns a bucket that calls open for every operation. A long-lived reader therefore uses a
// changed credential, and fails once open does.
func Reopen(open func(context.Context) (Bucket, error)) Bucket { return reopened{open} }

type reopened struct {
	open func(context.Context) (Bucket, error)
}

// Get implements Bucket.
func (r reopened) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	bucket, err := r.open(ctx)
	if err != nil {
		return nil, err
	}
	return bucket.Get(ctx, name)
}

// GetRange implements Bucket.
func (r reopened) GetRange(ctx context.Context, name string, offset, length int64) (io.ReadCloser, error) {
	bucket, err := r.open(ctx)
	if err != nil {
		return nil, err
	}
	return bucket.GetRange(ctx, name, offset, length)
}

// Stat implements Bucket.
func (r reopened) Stat(ctx context.Context, name string) (Object, error) {
	bucket, err := r.open(ctx)
	if err != nil {
		return Object{}, err
	}
	return bucket.Stat(ctx, name)
}

// List implements Bucket.
func (r reopened) List(ctx context.Context, prefix string, opts ListOptions) iter.Seq2[Object, error] {
	bucket, err := r.open(ctx)
	if err != nil {
		return func(yield func(Object, error) bool) { yield(Object{}, err) }
	}
	return bucket.List(ctx, prefix, opts)
}

// Put implements Bucket.
func (r reopened) Put(ctx context.Context, name string, body io.Reader, size int64) error {
	bucket, err := r.open(ctx)
	if err != nil {
		return err
	}
	return bucket.Put(ctx, name, body, size)
}

// PutIfAbsent implements Bucket.
func (r reopened) PutIfAbsent(ctx context.Context, name string, body []byte) error {
	bucket, err := r.open(ctx)
	if err != nil {
		return err
	}
	return bucket.PutIfAbsent(ctx, name, body)
}

// Delete implements Bucket.
func (r reopened) Delete(ctx context.Context, name string) error {
	bucket, err := r.open(ctx)
	if err != nil {
		return err
	}
	return bucket.Delete(ctx, name)
}
