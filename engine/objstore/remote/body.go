package remote

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/lakewarden/lakewarden/engine/objstore"
)

// Body is an open object. A reply that ends early is never treated as the end of the object: the
// rest of the same content is requested, and if that fails, Read returns an error. It is not safe
// for concurrent use.
type Body struct {
	// Op and Name are for error texts.
	Op   objstore.Op
	Name string
	// Inner is the reply's body, of which Rest is requested.
	Inner io.ReadCloser
	Rest  Span
	// Tries is how often the rest may still be requested.
	Tries int
	// Reopen requests the rest on the condition that the object is unchanged, and returns what the
	// reply contains. It is nil if the store did not identify the content.
	Reopen func(ctx context.Context, rest Span) (io.ReadCloser, Span, error)
	// Translate maps errors of Inner.
	Translate Translate

	ctx context.Context
}

// Open returns the body as a reader whose reads stop when ctx ends.
func (r Body) Open(ctx context.Context) io.ReadCloser {
	r.ctx = ctx
	return &r
}

// Read implements io.Reader.
func (r *Body) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, Failed(r.Op, r.Name, err)
	}
	if r.Rest.Length == 0 {
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
		case errors.Is(err, io.EOF) && r.Rest.Length < 0:
			return 0, io.EOF
		case r.resume(err):
			continue
		case errors.Is(err, io.EOF):
			return 0, Failed(r.Op, r.Name, fmt.Errorf("%w: %d bytes short", objstore.ErrUnavailable, r.Rest.Length))
		}
		return 0, Failed(r.Op, r.Name, r.Translate(r.ctx, err, 0))
	}
}

// next reads the bytes that belong to the requested part.
func (r *Body) next(p []byte) (int, error) {
	if r.Rest.Length >= 0 && int64(len(p)) > r.Rest.Length {
		p = p[:r.Rest.Length]
	}
	n, err := r.Inner.Read(p)
	r.Rest.Start += int64(n)
	if r.Rest.Length >= 0 {
		r.Rest.Length -= int64(n)
	}
	return n, err
}

// resume requests the rest after a connection was lost. If the store timed out, there is no second
// request.
func (r *Body) resume(cause error) bool {
	if r.Tries <= 0 || r.Reopen == nil || r.Rest.Length < 0 || r.ctx.Err() != nil || IsTimeout(cause) {
		return false
	}
	r.Tries--
	inner, part, err := r.Reopen(r.ctx, r.Rest)
	if err != nil {
		return false
	}
	if part != r.Rest {
		inner.Close()
		return false
	}
	r.Inner.Close()
	r.Inner = inner
	return true
}

// Close implements io.Closer.
func (r *Body) Close() error { return r.Inner.Close() }
