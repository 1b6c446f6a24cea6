package contentcoding

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/lakewarden/lakewarden/engine/ingest/staging"
)

// Coding is the way in which a body is compressed.
type Coding string

// The codings of bodies.
const (
	// Identity is a body that is not compressed.
	Identity Coding = ""
	// Gzip is RFC 1952, of one or more members.
	Gzip Coding = "gzip"
	// Zstd is RFC 8878, of one or more frames with windows of at most 8 MiB.
	Zstd Coding = "zstd"
)

// ErrUnknown is returned for a Content-Encoding that names another coding, or several:
// 400.
var ErrUnknown = errors.New("content coding is not supported")

// Parse returns the coding that a Content-Encoding names. Names are case-insensitive.
func Parse(name string) (Coding, error) {
	switch strings.ToLower(strings.TrimSpace(name)) {
	case "", "identity":
		return Identity, nil
	case "gzip", "x-gzip":
		return Gzip, nil
	case "zstd":
		return Zstd, nil
	}
	return Identity, ErrUnknown
}

var (
	gzipMark = []byte{0x1f, 0x8b}
	zstdMark = []byte{0x28, 0xb5, 0x2f, 0xfd}
)

// MarkBytes is the number of bytes that [Detect] needs.
const MarkBytes = 4

// Detect returns the coding of a body that begins with head.
func Detect(head []byte) Coding {
	switch {
	case bytes.HasPrefix(head, gzipMark):
		return Gzip
	case bytes.HasPrefix(head, zstdMark):
		return Zstd
	}
	return Identity
}

// maxWindow bounds the memory of a zstd decoder. RFC 8878 recommends that decoders support
// at least this much.
const maxWindow = 8 << 20

// NewReader returns a reader of the decompressed body. Close frees memory; it does not close
// body. Errors of Read are those of body, [staging.ErrTruncated] for an empty body, and
// [*staging.SyntaxError] for one that is cut off or not of the coding, with the number of
// bytes of body that were read.
func NewReader(body io.Reader, coding Coding) io.ReadCloser {
	if coding == Identity {
		return io.NopCloser(body)
	}
	return &reader{coding: coding, source: source{r: body}}
}

// reader decompresses a body. It reads nothing before the first Read.
type reader struct {
	coding Coding
	source source
	out    io.Reader
	free   func()
	err    error
}

// Read implements io.Reader.
func (r *reader) Read(p []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	if r.out == nil {
		if err := r.open(); err != nil {
			r.err = r.failure(err)
			return 0, r.err
		}
	}
	n, err := r.out.Read(p)
	if err != nil {
		r.err = r.failure(err)
	}
	return n, r.err
}

func (r *reader) open() error {
	if r.coding == Gzip {
		out, err := gzip.NewReader(&r.source)
		r.out = out
		return err
	}
	out, err := zstd.NewReader(&r.source, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return err
	}
	r.out, r.free = out, out.Close
	return nil
}

// failure returns the error of the body if it has one, and otherwise describes that of the
// decoder.
func (r *reader) failure(err error) error {
	switch {
	case r.source.err != nil:
		return r.source.err
	case errors.Is(err, io.EOF) && r.source.read > 0:
		return io.EOF
	case errors.Is(err, io.EOF): // there is no body
		return staging.ErrTruncated
	}
	text := "the compressed data is damaged"
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		text = "the compressed data is cut off"
	case errors.Is(err, zstd.ErrWindowSizeExceeded), errors.Is(err, zstd.ErrDecoderSizeExceeded):
		text = "its window is larger than 8 MiB"
	}
	return &staging.SyntaxError{Format: staging.Format(r.coding), Offset: r.source.read, Text: text}
}

// Close frees the memory of the decoder.
func (r *reader) Close() error {
	if r.free != nil {
		r.free()
		r.free = nil
	}
	if r.err == nil {
		r.err = errors.New("contentcoding: read after close")
	}
	return nil
}

// source remembers the error of a body, which decoders wrap or replace.
type source struct {
	r    io.Reader
	read int64
	err  error
}

// Read implements io.Reader.
func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	s.read += int64(n)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		s.err = err
	}
	return n, err
}
