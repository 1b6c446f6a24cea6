package gcs

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	"cloud.google.com/go/storage"

	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/remote"
)

// Get implements objstore.Bucket.
func (b *Bucket) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	return b.read(ctx, objstore.OpGet, name, 0, -1)
}

// GetRange implements objstore.Bucket.
func (b *Bucket) GetRange(ctx context.Context, name string, offset, length int64) (io.ReadCloser, error) {
	if length == 0 {
		// The protocol cannot express an empty range.
		_, err := b.Stat(ctx, name)
		return io.NopCloser(bytes.NewReader(nil)), err
	}
	return b.read(ctx, objstore.OpGetRange, name, offset, length)
}

// Stat implements objstore.Bucket.
func (b *Bucket) Stat(ctx context.Context, name string) (objstore.Object, error) {
	found, err := b.attributes(ctx, name)
	if err != nil {
		return objstore.Object{}, err
	}
	return objstore.Object{Name: name, Size: found.Size, ModTime: found.Updated}, nil
}

func (b *Bucket) attributes(ctx context.Context, name string) (*storage.ObjectAttrs, error) {
	if err := remote.Check(ctx, objstore.OpStat, name); err != nil {
		return nil, err
	}
	watch, fate := remote.WithFate(ctx)
	found, err := b.handle.Object(name).Attrs(watch)
	if err != nil {
		return nil, remote.Failed(objstore.OpStat, name, b.missing(ctx, err, translate(ctx, err, fate.LastStatus())))
	}
	return found, nil
}

func (b *Bucket) read(ctx context.Context, op objstore.Op, name string, offset, length int64) (io.ReadCloser, error) {
	if err := remote.Check(ctx, op, name); err != nil {
		return nil, err
	}
	watch, fate := remote.WithFate(ctx)
	reply, err := b.fetch(watch, name, offset, length, "")
	switch {
	case err == nil:
	case fate.LastStatus() == http.StatusRequestedRangeNotSatisfiable && ctx.Err() == nil:
		return io.NopCloser(bytes.NewReader(nil)), nil
	default:
		return nil, remote.Failed(op, name, b.missing(ctx, err, translate(ctx, err, fate.LastStatus())))
	}
	part, err := wanted(reply, offset, length)
	if err != nil {
		return nil, remote.Failed(op, name, err)
	}
	body := remote.Body{Op: op, Name: name, Inner: reply.Body, Rest: part, Tries: b.limits.Attempts - 1, Translate: translate}
	if generation := reply.Header.Get("X-Goog-Generation"); generation != "" {
		body.Reopen = func(ctx context.Context, rest remote.Span) (io.ReadCloser, remote.Span, error) {
			again, err := b.fetch(ctx, name, rest.Start, rest.Length, generation)
			if err != nil {
				return nil, remote.Span{}, err
			}
			part, err := wanted(again, rest.Start, rest.Length)
			return again.Body, part, err
		}
	}
	return body.Open(ctx), nil
}

// fetch requests a part of an object. If generation is not empty, the object must have it.
func (b *Bucket) fetch(ctx context.Context, name string, offset, length int64, generation string) (*http.Response, error) {
	query := url.Values{"alt": {"media"}}
	if generation != "" {
		query.Set("ifGenerationMatch", generation)
	}
	// The content as it is stored: without this header the service decompresses some objects.
	header := http.Header{"Accept-Encoding": {"gzip"}}
	if offset != 0 || length >= 0 {
		header.Set("Range", remote.RangeHeader(offset, length))
	}
	return b.get(ctx, "o/"+url.PathEscape(name)+"?"+query.Encode(), header)
}

// get requests something of the bucket, several times if the store is busy. The reply is a success.
func (b *Bucket) get(ctx context.Context, resource string, header http.Header) (*http.Response, error) {
	for attempt := 1; ; attempt++ {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, b.base+"/storage/v1/b/"+b.name+"/"+resource, nil)
		if err != nil {
			return nil, err
		}
		r.Header = header.Clone()
		reply, err := b.http.Do(r)
		if err == nil {
			err = checkResponse(reply)
		}
		if err == nil || attempt >= b.limits.Attempts || !repeatable(err) {
			return reply, err
		}
		if err := remote.Pause(ctx, attempt, b.limits.Backoff); err != nil {
			return nil, err
		}
	}
}

// wanted returns the requested part of the object; the reply's body must begin with it. On error the
// reply is closed.
func wanted(reply *http.Response, offset, length int64) (remote.Span, error) {
	span := reply.Header.Get("Content-Range")
	if reply.ContentLength < 0 && span == "" && offset == 0 && length < 0 {
		return remote.Span{Length: -1}, nil // a whole object of unknown length
	}
	if strings.HasSuffix(span, "/0") {
		span = "" // a range of an empty object
	}
	part, err := remote.Wanted(span, reply.ContentLength, offset, length)
	if err != nil {
		err = errors.Join(err, reply.Body.Close())
	}
	return part, err
}
