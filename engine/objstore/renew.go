package objstore

import (
	"context"
	"errors"
	"io"
	"iter"
)

// Renew returns bucket with operations that survive the rotation of its credential: one that ends
// with [ErrCredential], which has changed nothing, is repeated with the bucket that newer returns.
// That bucket has the same objects and a credential that replaced the one of bucket, or is nil if
// none did; then, and if newer fails, the operation ends with its first error. A Put is repeated if
// its body is an [io.Seeker]; the rest of a body that is being read is not.
func Renew(bucket Bucket, newer func(context.Context) (Bucket, error)) Bucket {
	return &renewed{bucket, newer}
}

type renewed struct {
	inner Bucket
	newer func(context.Context) (Bucket, error)
}

var (
	_ Bucket       = (*renewed)(nil)
	_ UploadLister = (*renewed)(nil)
	_ Copier       = (*renewed)(nil)
	_ Locator      = (*renewed)(nil)
	_ Summer       = (*renewed)(nil)
)

// after returns the bucket with which an operation is repeated that ended with err, or nil.
func (b *renewed) after(ctx context.Context, err error) Bucket {
	if !errors.Is(err, ErrCredential) {
		return nil
	}
	bucket, err := b.newer(ctx)
	if err != nil {
		return nil
	}
	return bucket
}

func repeat[T any](ctx context.Context, b *renewed, operate func(Bucket) (T, error)) (T, error) {
	result, err := operate(b.inner)
	if newer := b.after(ctx, err); newer != nil {
		return operate(newer)
	}
	return result, err
}

// Get implements Bucket.
func (b *renewed) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	return repeat(ctx, b, func(at Bucket) (io.ReadCloser, error) { return at.Get(ctx, name) })
}

// GetRange implements Bucket.
func (b *renewed) GetRange(ctx context.Context, name string, offset, length int64) (io.ReadCloser, error) {
	return repeat(ctx, b, func(at Bucket) (io.ReadCloser, error) { return at.GetRange(ctx, name, offset, length) })
}

// Stat implements Bucket.
func (b *renewed) Stat(ctx context.Context, name string) (Object, error) {
	return repeat(ctx, b, func(at Bucket) (Object, error) { return at.Stat(ctx, name) })
}

// List implements Bucket. It continues after the last object that was yielded.
func (b *renewed) List(ctx context.Context, prefix string, opts ListOptions) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		opts := opts // the sequence can be used again
		for object, err := range b.inner.List(ctx, prefix, opts) {
			if newer := b.after(ctx, err); newer != nil {
				newer.List(ctx, prefix, opts)(yield)
				return
			}
			if !yield(object, err) {
				return
			}
			opts.StartAfter = object.Name
		}
	}
}

// Put implements Bucket.
func (b *renewed) Put(ctx context.Context, name string, body io.Reader, size int64) error {
	seeker, ok := body.(io.Seeker)
	if !ok {
		return b.inner.Put(ctx, name, body, size)
	}
	start, err := seeker.Seek(0, io.SeekCurrent)
	if err != nil {
		return err
	}
	return b.repeat(ctx, func(at Bucket) error {
		if _, err := seeker.Seek(start, io.SeekStart); err != nil {
			return err
		}
		return at.Put(ctx, name, body, size)
	})
}

// PutIfAbsent implements Bucket.
func (b *renewed) PutIfAbsent(ctx context.Context, name string, body []byte) error {
	return b.repeat(ctx, func(at Bucket) error { return at.PutIfAbsent(ctx, name, body) })
}

// Delete implements Bucket.
func (b *renewed) Delete(ctx context.Context, name string) error {
	return b.repeat(ctx, func(at Bucket) error { return at.Delete(ctx, name) })
}

func (b *renewed) repeat(ctx context.Context, operate func(Bucket) error) error {
	_, err := repeat(ctx, b, func(at Bucket) (struct{}, error) { return struct{}{}, operate(at) })
	return err
}

// Uploads implements UploadLister.
func (b *renewed) Uploads(ctx context.Context, prefix string) iter.Seq2[Upload, error] {
	return Uploads(ctx, b.inner, prefix)
}

// CopyFrom implements Copier.
func (b *renewed) CopyFrom(ctx context.Context, source Bucket, from Object, name string) (bool, error) {
	return repeat(ctx, b, func(at Bucket) (bool, error) { return Copy(ctx, at, name, source, from) })
}

func (b *renewed) unwrap(name string) (Bucket, string) { return b.inner, name }

// Sums implements Summer.
func (b *renewed) Sums(ctx context.Context, name string) (Sums, error) {
	return repeat(ctx, b, func(at Bucket) (Sums, error) { return StoredSums(ctx, at, name) })
}
