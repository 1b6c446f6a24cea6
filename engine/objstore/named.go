package objstore

import (
	"context"
	"errors"
	"io"
	"iter"
	"strconv"
)

// StoreError is a failure of a store, with the name by which users know it. It wraps only failures
// of the store itself, [ErrUnavailable] and [ErrDenied], not errors about an object.
type StoreError struct {
	// Name is the argument of [Named].
	Name string
	// Op is the operation that failed.
	Op Op
	// Err is the failure.
	Err error
}

// Error implements error.
func (e *StoreError) Error() string { return "storage " + strconv.Quote(e.Name) + ": " + e.Err.Error() }

// Unwrap returns the failure.
func (e *StoreError) Unwrap() error { return e.Err }

// RefusesWrites reports whether the store accepts the credential but does not let it write.
func (e *StoreError) RefusesWrites() bool {
	switch e.Op {
	case OpPut, OpPutIfAbsent, OpDelete, OpCopy:
		return errors.Is(e.Err, ErrDenied) && !errors.Is(e.Err, ErrCredential)
	}
	return false
}

// Named returns bucket with its failures wrapped in [StoreError] with this name.
func Named(bucket Bucket, name string) Bucket { return &named{bucket, name} }

type named struct {
	inner Bucket
	name  string
}

var (
	_ Bucket       = (*named)(nil)
	_ UploadLister = (*named)(nil)
)

func (b *named) err(op Op, err error) error {
	if errors.Is(err, ErrUnavailable) || errors.Is(err, ErrDenied) {
		return &StoreError{Name: b.name, Op: op, Err: err}
	}
	return err
}

// Get implements Bucket.
func (b *named) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	body, err := b.inner.Get(ctx, name)
	return b.body(OpGet, body, err)
}

// GetRange implements Bucket.
func (b *named) GetRange(ctx context.Context, name string, offset, length int64) (io.ReadCloser, error) {
	body, err := b.inner.GetRange(ctx, name, offset, length)
	return b.body(OpGetRange, body, err)
}

func (b *named) body(op Op, body io.ReadCloser, err error) (io.ReadCloser, error) {
	if err != nil {
		return nil, b.err(op, err)
	}
	return &namedBody{body, b, op}, nil
}

// namedBody is an open object, which can fail later.
type namedBody struct {
	io.ReadCloser
	store *named
	op    Op
}

// Read implements io.Reader.
func (r *namedBody) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	if err != nil && err != io.EOF { //nolint:errorlint // io.Reader returns io.EOF unwrapped
		err = r.store.err(r.op, err)
	}
	return n, err
}

// Stat implements Bucket.
func (b *named) Stat(ctx context.Context, name string) (Object, error) {
	object, err := b.inner.Stat(ctx, name)
	return object, b.err(OpStat, err)
}

// List implements Bucket.
func (b *named) List(ctx context.Context, prefix string, opts ListOptions) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		for object, err := range b.inner.List(ctx, prefix, opts) {
			if !yield(object, b.err(OpList, err)) {
				return
			}
		}
	}
}

// Put implements Bucket.
func (b *named) Put(ctx context.Context, name string, body io.Reader, size int64) error {
	return b.err(OpPut, b.inner.Put(ctx, name, body, size))
}

// PutIfAbsent implements Bucket.
func (b *named) PutIfAbsent(ctx context.Context, name string, body []byte) error {
	return b.err(OpPutIfAbsent, b.inner.PutIfAbsent(ctx, name, body))
}

// Delete implements Bucket.
func (b *named) Delete(ctx context.Context, name string) error {
	return b.err(OpDelete, b.inner.Delete(ctx, name))
}

// Uploads implements UploadLister.
func (b *named) Uploads(ctx context.Context, prefix string) iter.Seq2[Upload, error] {
	return func(yield func(Upload, error) bool) {
		for upload, err := range Uploads(ctx, b.inner, prefix) {
			discard := upload.Discard
			upload.Discard = func(ctx context.Context) error { return b.err(OpDiscard, discard(ctx)) }
			if !yield(upload, b.err(OpUploads, err)) {
				return
			}
		}
	}
}
