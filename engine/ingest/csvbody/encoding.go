package csvbody

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/lakewarden/lakewarden/engine/ingest/staging"
)

// Encoding is the character encoding of a body.
type Encoding string

// The encodings of bodies.
const (
	// UTF8 is also selected by "". A byte order mark is skipped.
	UTF8 Encoding = "utf-8"
	// Latin1 is ISO 8859-1.
	Latin1 Encoding = "latin-1"
	// Windows1252 is Latin1 with further characters in place of the controls from 0x80 to 0x9f.
	Windows1252 Encoding = "windows-1252"
	// UTF16 has the byte order of its byte order mark. Without one the first character, if it is
	// ASCII, decides; else it is little-endian.
	UTF16 Encoding = "utf-16"
)

func (e Encoding) valid() bool {
	switch e {
	case "", UTF8, Latin1, Windows1252, UTF16:
		return true
	}
	return false
}

// NewReader returns body as UTF-8. Errors of Read are those of body, [staging.ErrTruncated]
// and [*staging.SyntaxError] for bytes that are not of the encoding.
func (e Encoding) NewReader(body io.Reader) io.Reader {
	t := &transcoder{r: body, line: 1, order: binary.LittleEndian}
	switch e {
	case Latin1, Windows1252:
		t.convert, t.table = t.bytes, e == Windows1252
	case UTF16:
		t.convert = t.units
	default:
		return body
	}
	return t
}

// windows1252 holds the characters from 0x80 to 0x9f, 0 for bytes without a character.
var windows1252 = [32]rune{
	0x20ac, 0, 0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021, 0x02c6, 0x2030, 0x0160, 0x2039, 0x0152, 0, 0x017d, 0,
	0, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014, 0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0, 0x017e, 0x0178,
}

// transcoder converts text to UTF-8.
type transcoder struct {
	r io.Reader
	// convert appends the converted beginning of raw to out and returns the length of that
	// beginning.
	convert func(raw []byte, last bool) (int, error)
	// table selects [windows1252].
	table bool
	order binary.ByteOrder
	begun bool

	raw      [32 << 10]byte
	n        int
	out      []byte
	returned int
	line     int64
	offset   int64
	err      error
}

// Read implements io.Reader.
func (t *transcoder) Read(p []byte) (int, error) {
	for t.returned == len(t.out) {
		if t.err != nil {
			return 0, t.err
		}
		t.fill()
	}
	n := copy(p, t.out[t.returned:])
	t.returned += n
	return n, nil
}

func (t *transcoder) fill() {
	t.out, t.returned = t.out[:0], 0
	n, err := t.r.Read(t.raw[t.n:])
	t.n += n
	used, problem := t.convert(t.raw[:t.n], errors.Is(err, io.EOF))
	t.offset += int64(used)
	t.n = copy(t.raw[:], t.raw[used:t.n])
	if t.err = err; problem != nil {
		t.err = problem
	}
}

func (t *transcoder) append(r rune) {
	if r == '\n' {
		t.line++
	}
	t.out = utf8.AppendRune(t.out, r)
}

func (t *transcoder) bytes(raw []byte, _ bool) (int, error) {
	for i, b := range raw {
		r := rune(b)
		if t.table && b >= 0x80 && b < 0xa0 {
			if r = windows1252[b-0x80]; r == 0 {
				return i, t.invalid(i, Windows1252)
			}
		}
		t.append(r)
	}
	return len(raw), nil
}

func (t *transcoder) units(raw []byte, last bool) (int, error) {
	i := 0
	if !t.begun && len(raw) >= 2 {
		t.begun = true
		switch {
		case raw[0] == 0xfe && raw[1] == 0xff:
			t.order, i = binary.BigEndian, 2
		case raw[0] == 0xff && raw[1] == 0xfe:
			i = 2
		case raw[0] == 0 && raw[1] != 0:
			t.order = binary.BigEndian
		}
	}
	for ; i+2 <= len(raw); i += 2 {
		r := rune(t.order.Uint16(raw[i:]))
		if utf16.IsSurrogate(r) {
			if i+4 > len(raw) && !last {
				return i, nil
			}
			var low rune
			if i+4 <= len(raw) {
				low = rune(t.order.Uint16(raw[i+2:]))
			}
			if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
				return i, t.invalid(i, UTF16)
			}
			i += 2
		}
		t.append(r)
	}
	if last && i < len(raw) {
		return i, fmt.Errorf("utf-16: %w", staging.ErrTruncated)
	}
	return i, nil
}

// invalid returns the error for the bytes at raw[i].
func (t *transcoder) invalid(i int, e Encoding) error {
	return &staging.SyntaxError{Format: staging.CSV, Line: t.line, Offset: t.offset + int64(i), Text: "the text is not " + string(e)}
}
