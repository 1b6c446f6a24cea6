package objstore

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// Range resolves the arguments of GetRange against an object of the given size:
// the bytes are [start, end), 0 <= start <= end <= size.
func Range(size, offset, length int64) (start, end int64) {
	if offset < 0 {
		// Not size+offset < 0, which overflows for the minimum int64.
		if offset < -size {
			offset = -size
		}
		offset += size
	}
	start = min(offset, size)
	if length < 0 || length > size-start {
		return start, size
	}
	return start, start + length
}

// Source is the body of a Put as a provider reads it. It returns ErrSize instead of io.EOF if the
// body does not have exactly the announced length, and the context's error once the context has
// ended. It is not safe for concurrent use.
type Source struct {
	ctx  context.Context
	body io.Reader
	left int64
	err  error
}

// Exactly wraps a body that must be size bytes long.
func Exactly(ctx context.Context, body io.Reader, size int64) *Source {
	return &Source{ctx: ctx, body: body, left: size}
}

// Read implements io.Reader.
func (s *Source) Read(p []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	if len(p) == 0 {
		return 0, nil
	}
	if s.err = s.ctx.Err(); s.err != nil {
		return 0, s.err
	}
	if s.left <= 0 {
		s.err = s.end()
		return 0, s.err
	}
	if int64(len(p)) > s.left {
		p = p[:s.left]
	}
	n, err := s.body.Read(p)
	s.left -= int64(n)
	switch {
	case errors.Is(err, io.EOF) && s.left > 0:
		s.err = fmt.Errorf("%w: %d bytes short", ErrSize, s.left)
	case errors.Is(err, io.EOF):
		s.err = io.EOF
	case err != nil:
		s.err = fmt.Errorf("read body: %w", err)
	}
	return n, s.err
}

// Err returns the first failure of the body itself, or nil. A provider uses it to distinguish a bad
// body from a bad store.
func (s *Source) Err() error {
	if errors.Is(s.err, io.EOF) {
		return nil
	}
	return s.err
}

// end checks that the body ends at the announced length.
func (s *Source) end() error {
	if s.left < 0 {
		return fmt.Errorf("%w: negative size", ErrSize)
	}
	var extra [1]byte
	n, err := io.ReadFull(s.body, extra[:])
	switch {
	case n > 0:
		return fmt.Errorf("%w: longer", ErrSize)
	case !errors.Is(err, io.EOF):
		return fmt.Errorf("read body: %w", err)
	}
	return io.EOF
}

// Body returns an open object whose reads stop when ctx ends, for providers whose own readers take
// no context.
func Body(ctx context.Context, r io.Reader, c io.Closer) io.ReadCloser {
	return &ctxBody{ctx: ctx, r: r, c: c}
}

type ctxBody struct {
	ctx context.Context
	r   io.Reader
	c   io.Closer
}

func (b *ctxBody) Read(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	return b.r.Read(p)
}

func (b *ctxBody) Close() error { return b.c.Close() }
