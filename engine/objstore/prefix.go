package objstore

import (
	"context"
	"errors"
	"io"
	"iter"
	"strings"
)

// Prefix returns the part of bucket below the folder dir as a Bucket of its own; an empty dir is
// the bucket itself. Names are checked before they are joined, so no name leads out of dir. If
// ValidName refuses dir, every operation returns ErrInvalidName.
func Prefix(bucket Bucket, dir string) Bucket {
	if dir == "" {
		return bucket
	}
	return &prefixed{inner: bucket, dir: strings.TrimSuffix(dir, "/") + "/"}
}

type prefixed struct {
	inner Bucket
	dir   string // ends in a slash
}

var (
	_ Bucket       = (*prefixed)(nil)
	_ UploadLister = (*prefixed)(nil)
)

func (b *prefixed) full(name string) (string, error) {
	if err := ValidName(name); err != nil {
		return "", err
	}
	// The whole name is checked as well: it can be too long, and dir can be invalid.
	return b.dir + name, ValidName(b.dir + name)
}

// Get implements Bucket.
func (b *prefixed) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	full, err := b.full(name)
	if err != nil {
		return nil, err
	}
	return b.inner.Get(ctx, full)
}

// GetRange implements Bucket.
func (b *prefixed) GetRange(ctx context.Context, name string, offset, length int64) (io.ReadCloser, error) {
	full, err := b.full(name)
	if err != nil {
		return nil, err
	}
	return b.inner.GetRange(ctx, full, offset, length)
}

// Stat implements Bucket.
func (b *prefixed) Stat(ctx context.Context, name string) (Object, error) {
	full, err := b.full(name)
	if err != nil {
		return Object{}, err
	}
	object, err := b.inner.Stat(ctx, full)
	if err != nil {
		return Object{}, err
	}
	object.Name = name
	return object, nil
}

// List implements Bucket.
func (b *prefixed) List(ctx context.Context, prefix string, opts ListOptions) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		if err := ValidPrefix(prefix); err != nil {
			yield(Object{}, err)
			return
		}
		if err := ValidPrefix(b.dir + prefix); err != nil {
			yield(Object{}, err)
			return
		}
		if opts.StartAfter != "" {
			opts.StartAfter = b.dir + opts.StartAfter
		}
		for object, err := range b.inner.List(ctx, b.dir+prefix, opts) {
			object.Name = strings.TrimPrefix(object.Name, b.dir)
			if !yield(object, err) {
				return
			}
		}
	}
}

// Put implements Bucket.
func (b *prefixed) Put(ctx context.Context, name string, body io.Reader, size int64) error {
	full, err := b.full(name)
	if err != nil {
		return err
	}
	return b.inner.Put(ctx, full, body, size)
}

// PutIfAbsent implements Bucket.
func (b *prefixed) PutIfAbsent(ctx context.Context, name string, body []byte) error {
	full, err := b.full(name)
	if err != nil {
		return err
	}
	return b.inner.PutIfAbsent(ctx, full, body)
}

// Delete implements Bucket.
func (b *prefixed) Delete(ctx context.Context, name string) error {
	full, err := b.full(name)
	if err != nil {
		return err
	}
	return b.inner.Delete(ctx, full)
}

// Uploads implements UploadLister.
func (b *prefixed) Uploads(ctx context.Context, prefix string) iter.Seq2[Upload, error] {
	return func(yield func(Upload, error) bool) {
		if err := errors.Join(ValidPrefix(prefix), ValidPrefix(b.dir+prefix)); err != nil {
			yield(Upload{}, err)
			return
		}
		for upload, err := range Uploads(ctx, b.inner, b.dir+prefix) {
			upload.Name = strings.TrimPrefix(upload.Name, b.dir)
			if !yield(upload, err) {
				return
			}
		}
	}
}
