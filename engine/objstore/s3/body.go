package s3

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/lakewarden/lakewarden/engine/objstore"
)

// span is a part of an object.
type span struct {
	start  int64
	length int64 // -1 if the store did not report the end
}

// body is an open object. A reply that ends early is never treated as the end of the object: the
// rest of the same content is requested, and if that fails, Read returns an error. It is not safe
// for concurrent use.
type body struct {
	ctx    context.Context
	bucket *Bucket
	op     objstore.Op
	name   string
	etag   *string
	inner  io.ReadCloser
	rest   span
	// tries is how often the rest may still be requested.
	tries int
}

func (b *Bucket) open(ctx context.Context, op objstore.Op, name string, out *sdk.GetObjectOutput, part span) *body {
	return &body{ctx: ctx, bucket: b, op: op, name: name, etag: out.ETag, inner: out.Body, rest: part, tries: b.limits.Attempts - 1}
}

// Read implements io.Reader.
func (r *body) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, failed(r.op, r.name, err)
	}
	if r.rest.length == 0 {
		return 0, io.EOF
	}
	if len(p) == 0 {
		return 0, nil
	}
	for {
		n, err := r.next(p)
		switch {
		case n > 0:
			// The next read returns the error again.
			return n, nil
		case err == nil:
			return 0, nil
		case errors.Is(err, io.EOF) && r.rest.length < 0:
			return 0, io.EOF
		case r.resume(err):
			continue
		case errors.Is(err, io.EOF):
			return 0, failed(r.op, r.name, fmt.Errorf("%w: %d bytes short", objstore.ErrUnavailable, r.rest.length))
		}
		return 0, failed(r.op, r.name, translate(r.ctx, err, 0))
	}
}

// next reads the bytes that belong to the requested part.
func (r *body) next(p []byte) (int, error) {
	if r.rest.length >= 0 && int64(len(p)) > r.rest.length {
		p = p[:r.rest.length]
	}
	n, err := r.inner.Read(p)
	r.rest.start += int64(n)
	if r.rest.length >= 0 {
		r.rest.length -= int64(n)
	}
	return n, err
}

// resume requests the rest after a connection was lost, on the condition that the object is
// unchanged. If the store timed out, there is no second request.
func (r *body) resume(cause error) bool {
	if r.tries == 0 || r.etag == nil || r.rest.length < 0 || r.ctx.Err() != nil || isTimeout(cause) {
		return false
	}
	r.tries--
	out, err := r.bucket.client.GetObject(r.ctx, &sdk.GetObjectInput{
		Bucket: &r.bucket.name, Key: &r.name, IfMatch: r.etag, Range: aws.String(rangeHeader(r.rest.start, r.rest.length)),
	})
	if err != nil {
		return false
	}
	if part, err := wanted(out, r.rest.start, r.rest.length); err != nil || part != r.rest {
		out.Body.Close()
		return false
	}
	r.inner.Close()
	r.inner = out.Body
	return true
}

// Close implements io.Closer.
func (r *body) Close() error { return r.inner.Close() }
