package gcs

import (
	"bytes"
	"context"
	"errors"
	"hash/crc32"
	"io"
	"net/http"

	"cloud.google.com/go/storage"

	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/remote"
)

// Put implements objstore.Bucket. A body is held in memory, one part at a time, so that a request
// can be retried and an invalid body leaves no trace.
func (b *Bucket) Put(ctx context.Context, name string, body io.Reader, size int64) error {
	if err := remote.Check(ctx, objstore.OpPut, name); err != nil {
		return err
	}
	source := objstore.Exactly(ctx, body, size)
	if size > b.limits.PartSize {
		return b.putParts(ctx, name, source)
	}
	content, err := io.ReadAll(source)
	if err != nil {
		return remote.Failed(objstore.OpPut, name, err)
	}
	_, err = remote.Write(ctx, objstore.OpPut, name, inBucket, func(ctx context.Context) error {
		for attempt := 1; ; attempt++ {
			err := b.upload(ctx, b.handle.Object(name), content)
			if err == nil || attempt >= b.limits.Attempts || !repeatable(err) {
				return err
			}
			if err := remote.Pause(ctx, attempt, b.limits.Backoff); err != nil {
				return err
			}
		}
	})
	return err
}

// PutIfAbsent implements objstore.Bucket. It is sent again only if the store had too many requests
// to take this one.
func (b *Bucket) PutIfAbsent(ctx context.Context, name string, body []byte) error {
	if err := remote.Check(ctx, objstore.OpPutIfAbsent, name); err != nil {
		return err
	}
	target := b.handle.Object(name).If(storage.Conditions{DoesNotExist: true})
	for attempt := 1; ; attempt++ {
		status, err := remote.Write(ctx, objstore.OpPutIfAbsent, name, inBucket, func(ctx context.Context) error {
			return b.upload(ctx, target, body)
		})
		if status != http.StatusTooManyRequests || attempt >= b.limits.Attempts {
			return err
		}
		if err := remote.Pause(ctx, attempt, b.limits.Backoff); err != nil {
			return remote.Failed(objstore.OpPutIfAbsent, name, err)
		}
	}
}

// upload writes an object in one request, once.
func (b *Bucket) upload(ctx context.Context, target *storage.ObjectHandle, content []byte) error {
	w := newWriter(ctx, target.Retryer(storage.WithPolicy(storage.RetryNever)))
	w.ChunkSize = 0
	// The store refuses content that was damaged on the way.
	w.CRC32C, w.SendCRC32C = crc32.Checksum(content, castagnoli), true
	_, err := io.Copy(w, bytes.NewReader(content))
	return errors.Join(w.Close(), err)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func newWriter(ctx context.Context, target *storage.ObjectHandle) *storage.Writer {
	w := target.NewWriter(ctx)
	w.ContentType = "application/octet-stream"
	return w
}

// putParts sends a large body as a resumable upload. Nothing is visible before the last request, so
// every earlier failure means that nothing was written.
func (b *Bucket) putParts(ctx context.Context, name string, source *objstore.Source) error {
	_, err := remote.Write(ctx, objstore.OpPut, name, inBucket, func(ctx context.Context) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		w := newWriter(ctx, b.handle.Object(name).Retryer(storage.WithErrorFunc(b.attempts())))
		w.ChunkSize = int(b.limits.PartSize)
		_, err := io.Copy(w, source)
		if source.Err() != nil {
			// The upload must not be finished with what came before.
			cancel()
			_ = w.Close()
			return source.Err()
		}
		return errors.Join(err, w.Close())
	})
	if source.Err() != nil {
		return remote.Failed(objstore.OpPut, name, source.Err())
	}
	return err
}

// attempts returns a function that the SDK calls after each request for a part, with its error or nil.
// It reports whether the request is sent again.
func (b *Bucket) attempts() func(error) bool {
	left := b.limits.Attempts
	return func(err error) bool {
		if err == nil {
			left = b.limits.Attempts
			return false
		}
		left--
		return left > 0 && repeatable(err)
	}
}

// Delete implements objstore.Bucket. It returns ErrUnknown if the reply was lost.
func (b *Bucket) Delete(ctx context.Context, name string) error {
	if err := remote.Check(ctx, objstore.OpDelete, name); err != nil {
		return err
	}
	var cause error
	_, err := remote.Write(ctx, objstore.OpDelete, name, translate, func(ctx context.Context) error {
		cause = b.handle.Object(name).Delete(ctx)
		return cause
	})
	if err = b.missing(ctx, cause, err); errors.Is(err, objstore.ErrNotFound) {
		return nil
	}
	return err
}
