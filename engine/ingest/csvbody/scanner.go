package csvbody

import (
	"bytes"
	"io"
	"strconv"

	"github.com/lakewarden/lakewarden/engine/ingest/staging"
)

// Field is one field of a record, valid until the next record is read.
type Field struct {
	// text is the field as sent, without the enclosing quotes.
	text []byte
	// quoted fields are never NULL; doubled ones hold doubled quotes.
	quoted, doubled bool
}

// scanner splits a body into records.
type scanner struct {
	r            io.Reader
	comma, quote byte
	limit        int64

	buf        []byte
	start, end int
	eof        bool
	fields     []Field
	plain      []byte
	// ends marks the bytes that end a field without quotes, or that it must not contain.
	ends [256]bool
	// line is the line of the next record, offset its place in the body. begun is the line of
	// the record that was returned last.
	line, offset, begun int64
	// comment is the character that begins comment lines; 0 means that there are none. onComment, if
	// it is not nil, is called with each of these lines.
	comment   byte
	onComment func(text []byte, line int64)
}

const bufferBytes = 256 << 10

// maxFields bounds the fields of a record, which cost much more memory than their
// bytes. It is twice the largest number of columns.
const maxFields = 20_000

func newScanner(r io.Reader, d Dialect, limit int64) *scanner {
	s := &scanner{r: r, comma: d.Comma, quote: d.Quote, comment: d.Comment, limit: limit, buf: make([]byte, bufferBytes), line: 1}
	for _, b := range []byte{d.Comma, d.Quote, '\n', '\r'} {
		s.ends[b] = true
	}
	return s
}

// setComma changes the delimiter.
func (s *scanner) setComma(comma byte) {
	s.ends[s.comma], s.ends[comma] = false, true
	s.comma = comma
}

// buffered returns the bytes that have been read and belong to no record yet.
func (s *scanner) buffered() []byte { return s.buf[s.start:s.end] }

// more tries to read until n bytes are buffered, and reports whether they are.
func (s *scanner) more(n int) (bool, error) {
	for s.end-s.start < n && !s.eof {
		if err := s.fill(); err != nil {
			return false, err
		}
	}
	return s.end-s.start >= n, nil
}

// rawLine returns the next line, including its end, without regard to quotes. It is valid until the
// next call. At the end of the body rawLine returns io.EOF.
func (s *scanner) rawLine() ([]byte, error) {
	for {
		b := s.buffered()
		n := bytes.IndexByte(b, '\n') + 1
		if n == 0 && s.eof {
			n = len(b)
		}
		if n > 0 {
			s.start += n
			s.offset += int64(n)
			s.line++
			return b[:n], nil
		}
		if s.eof {
			return nil, io.EOF
		}
		if err := s.fill(); err != nil {
			return nil, err
		}
	}
}

// skipComment skips the next line if it is a comment, and reports whether it is.
func (s *scanner) skipComment() (bool, error) {
	if s.comment == 0 {
		return false, nil
	}
	if some, err := s.more(1); err != nil || !some || s.buf[s.start] != s.comment {
		return false, err
	}
	line := s.line
	text, err := s.rawLine()
	if err == nil && s.onComment != nil {
		s.onComment(text, line)
	}
	return true, err
}

// scanned is the result of scanning for a record.
type scanned int

const (
	scannedRecord scanned = iota
	scannedPart           // more bytes are needed
	scannedEnd
)

// next returns the next record, valid until the next call, and its length. At the end it
// returns io.EOF.
func (s *scanner) next() ([]Field, int64, error) {
	for {
		skipped, err := s.skipComment()
		if err != nil {
			return nil, 0, err
		}
		if skipped {
			continue
		}
		result, n, err := s.record(s.buffered())
		switch {
		case err != nil:
			return nil, 0, err
		case result == scannedRecord:
			s.begun = s.line
			s.line += int64(bytes.Count(s.buf[s.start:s.start+n], []byte{'\n'}))
			s.start += n
			s.offset += int64(n)
			return s.fields, int64(n), nil
		case result == scannedEnd:
			return nil, 0, io.EOF
		case s.eof && int64(s.end-s.start) > s.limit:
			return nil, 0, &staging.LimitError{What: "row bytes", Limit: s.limit}
		case s.eof:
			return nil, 0, s.cut()
		}
		if err := s.fill(); err != nil {
			return nil, 0, err
		}
	}
}

// fill makes room and reads until the buffer is full. An incomplete record is scanned
// again only after the buffer has doubled.
func (s *scanner) fill() error {
	if s.start > 0 {
		s.end = copy(s.buf, s.buf[s.start:s.end])
		s.start = 0
	}
	if int64(s.end) > s.limit {
		return &staging.LimitError{What: "row bytes", Limit: s.limit}
	}
	if s.end == len(s.buf) {
		s.buf = append(s.buf, make([]byte, len(s.buf))...)
	}
	n, err := io.ReadFull(s.r, s.buf[s.end:])
	s.end += n
	if err == io.EOF || err == io.ErrUnexpectedEOF { // the end of the body; its other errors are wrapped
		s.eof = true
		return nil
	}
	return err
}

// record splits the record at the beginning of b and returns its length.
func (s *scanner) record(b []byte) (scanned, int, error) {
	s.fields = s.fields[:0]
	if len(b) == 0 {
		if s.eof {
			return scannedEnd, 0, nil
		}
		return scannedPart, 0, nil
	}
	for i := 0; ; {
		field, n, ok, err := s.field(b[i:])
		if err != nil {
			return 0, 0, err
		}
		if !ok {
			return scannedPart, 0, nil
		}
		if len(s.fields) == maxFields {
			return 0, 0, s.syntax("a record has more than " + strconv.Itoa(maxFields) + " fields")
		}
		s.fields = append(s.fields, field)
		i += n
		switch {
		case i == len(b):
			if !s.eof {
				return scannedPart, 0, nil
			}
			return scannedRecord, i, nil
		case b[i] == s.comma:
			i++
		case b[i] == '\n':
			return scannedRecord, i + 1, nil
		case b[i] == '\r' && i+1 == len(b) && !s.eof:
			return scannedPart, 0, nil
		case b[i] == '\r' && i+1 < len(b) && b[i+1] == '\n':
			return scannedRecord, i + 2, nil
		case b[i] == '\r':
			return 0, 0, s.syntax("a carriage return without line feed outside of quotes")
		case field.quoted:
			return 0, 0, s.syntax("text after the closing quote")
		default:
			return 0, 0, s.syntax("a quote in a field without quotes")
		}
	}
}

// field scans one field and returns its length. ok is false if the end of the field is unknown
// without more bytes.
func (s *scanner) field(b []byte) (field Field, n int, ok bool, err error) {
	if len(b) == 0 {
		return Field{}, 0, s.eof, nil
	}
	if b[0] != s.quote {
		n := 0
		for n < len(b) && !s.ends[b[n]] {
			n++
		}
		return Field{text: b[:n]}, n, true, nil
	}
	field.quoted = true
	for i := 1; ; {
		end := bytes.IndexByte(b[i:], s.quote)
		if end < 0 {
			return field, 0, false, nil
		}
		i += end + 1
		if i == len(b) && !s.eof {
			return field, 0, false, nil
		}
		if i == len(b) || b[i] != s.quote {
			field.text = b[1 : i-1]
			return field, i, true, nil
		}
		field.doubled = true
		i++
	}
}

// cut returns the error of an end within quotes.
func (s *scanner) cut() error {
	rest := s.buf[s.start:s.end]
	return &staging.CutError{Line: s.line + int64(bytes.Count(rest, []byte{'\n'})), RowLine: s.line, Offset: s.offset + int64(len(rest))}
}

func (s *scanner) syntax(text string) error {
	return &staging.SyntaxError{Format: staging.CSV, Line: s.line, Offset: s.offset, Text: text}
}

// unquoted returns the text of a field, valid until the next call.
func (s *scanner) unquoted(f Field) []byte {
	if !f.doubled {
		return f.text
	}
	s.plain = s.plain[:0]
	for rest := f.text; ; {
		i := bytes.IndexByte(rest, s.quote)
		if i < 0 {
			s.plain = append(s.plain, rest...)
			return s.plain
		}
		s.plain = append(s.plain, rest[:i+1]...)
		rest = rest[i+2:]
	}
}
