package staging

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
)

// Meter reads a body within its limits and counts what it has read.
type Meter struct {
	ctx context.Context
	r   io.Reader
	// limit is the largest length of the body, 0 for any.
	limit int64
	// read counts bytes, lines line feeds.
	read, lines int64
	// ahead is the position up to which the body may be read before the next call of Allow, 0
	// for any: readers that hold a value in memory until it is complete need such a bound.
	ahead int64
	// stop is the error at ahead.
	stop *LimitError
	// failed is the first error other than the end.
	failed error
	// zip reports that all bytes so far are those with which a ZIP archive begins.
	zip bool
}

// NewMeter returns a meter that reads at most limit bytes of body; 0 means any number.
func NewMeter(ctx context.Context, body io.Reader, limit int64) *Meter {
	return &Meter{ctx: ctx, r: body, limit: limit, zip: true}
}

// Allow permits reading the number of bytes of the limit from here, plus what a buffer holds
// beyond them.
func (m *Meter) Allow(limit *LimitError) {
	m.ahead, m.stop = m.read+limit.Limit+readAhead, limit
}

// readAhead is how many bytes decoders read beyond a value.
const readAhead = 64 << 10

// Offset returns the number of bytes read.
func (m *Meter) Offset() int64 { return m.read }

// Line returns the line in which the bytes read end, from 1.
func (m *Meter) Line() int64 { return m.lines + 1 }

// Failure returns the first error of the body other than its end. Decoders wrap it in errors
// of their own.
func (m *Meter) Failure() error { return m.failed }

// Interrupted returns the error of the context.
func (m *Meter) Interrupted() error { return m.ctx.Err() }

// Read implements io.Reader.
func (m *Meter) Read(p []byte) (int, error) {
	n, err := m.next(p)
	if err != nil && !errors.Is(err, io.EOF) && m.failed == nil {
		m.failed = err
	}
	return n, err
}

func (m *Meter) next(p []byte) (int, error) {
	if err := m.ctx.Err(); err != nil {
		return 0, err
	}
	if m.ahead > 0 && m.read >= m.ahead {
		return 0, m.stop
	}
	if m.limit > 0 {
		if m.read > m.limit {
			return 0, m.tooLong()
		}
		p = p[:min(int64(len(p)), m.limit-m.read+1)] // one more tells a body that is too long
	}
	n, err := m.r.Read(p)
	for m.read == 0 && n < min(len(zipMark), len(p)) && err == nil {
		var more int
		more, err = m.r.Read(p[n:])
		n += more
	}
	if m.isZIP(p[:n]) {
		return 0, errZIP
	}
	m.read += int64(n)
	m.lines += int64(bytes.Count(p[:n], newline))
	switch {
	case m.limit > 0 && m.read > m.limit:
		return 0, m.tooLong()
	case errors.Is(err, io.ErrUnexpectedEOF):
		err = fmt.Errorf("%w: %w", ErrTruncated, err)
	}
	return n, err
}

// zipMark is how ZIP archives begin, those of spreadsheets included. Text does not. It is no longer than
// the byte order mark that decoders look for first.
const zipMark = "PK\x03"

var errZIP = errors.New("body is a ZIP archive")

// isZIP reports whether the body begins like a ZIP archive, as soon as p has the last byte of the
// mark.
func (m *Meter) isZIP(p []byte) bool {
	if !m.zip || m.read >= int64(len(zipMark)) {
		return false
	}
	rest := zipMark[m.read:]
	n := min(len(p), len(rest))
	m.zip = string(p[:n]) == rest[:n]
	return m.zip && n == len(rest)
}

// Cut returns a [CutError] for an error about a truncated body that is none yet, a [SyntaxError] for a
// body that is a ZIP archive, and other errors unchanged.
func (m *Meter) Cut(err error, format Format) error {
	if errors.Is(m.failed, errZIP) {
		return &SyntaxError{Format: format, Offset: -1,
			Text: "it is a ZIP archive; send the file in it, which may be compressed with gzip or zstd"}
	}
	var told *CutError
	if !errors.Is(err, ErrTruncated) || errors.As(err, &told) {
		return err
	}
	at := &CutError{Offset: m.read}
	if format != Arrow && format != Parquet {
		at.Line = m.Line()
	}
	return at
}

var newline = []byte{'\n'}

func (m *Meter) tooLong() error { return &LimitError{What: "body bytes", Limit: m.limit} }
