package csvinfer

import (
	"bytes"
	"encoding/binary"
	"unicode/utf8"

	"github.com/lakewarden/lakewarden/engine/ingest/csvbody"
	"github.com/lakewarden/lakewarden/engine/ingest/staging"
)

// headBytes is the beginning of a file in which a zero byte means that it is not text.
const headBytes = 64 << 10

// inspector finds out the encoding of the text that is written to it.
type inspector struct {
	head []byte
	// part is the beginning of a character whose end was not written yet.
	part []byte
	// characters counts valid characters beyond ASCII, invalid the bytes of no character.
	characters, invalid int64
	// undefined reports a byte that has no meaning in windows-1252.
	undefined bool
}

// Write implements io.Writer.
func (s *inspector) Write(p []byte) (int, error) {
	if room := headBytes - len(s.head); room > 0 {
		s.head = append(s.head, p[:min(room, len(p))]...)
	}
	n := len(p)
	if len(s.part) == 0 && isASCII(p) {
		return n, nil
	}
	if len(s.part) > 0 {
		p = append(s.part, p...)
		s.part = nil
	}
	for len(p) > 0 {
		if p[0] < utf8.RuneSelf {
			p = p[1:]
			continue
		}
		r, size := utf8.DecodeRune(p)
		switch {
		case r != utf8.RuneError || size > 1:
			s.characters++
		case !utf8.FullRune(p):
			s.part = bytes.Clone(p)
			return n, nil
		default:
			s.invalid++
			switch p[0] {
			case 0x81, 0x8d, 0x8f, 0x90, 0x9d:
				s.undefined = true
			}
		}
		p = p[size:]
	}
	return n, nil
}

func isASCII(p []byte) bool {
	for ; len(p) >= 8; p = p[8:] {
		if binary.LittleEndian.Uint64(p)&0x8080808080808080 != 0 {
			return false
		}
	}
	for _, b := range p {
		if b >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// encoding returns the encoding of the text. A few invalid bytes among many characters of UTF-8
// are errors of UTF-8.
func (s *inspector) encoding() (csvbody.Encoding, error) {
	invalid := s.invalid + int64(len(s.part))
	switch zero := bytes.IndexByte(s.head, 0); {
	case s.isUTF16():
		return csvbody.UTF16, nil
	case zero >= 0:
		return "", &staging.SyntaxError{Format: staging.CSV, Line: int64(bytes.Count(s.head[:zero], []byte{'\n'})) + 1, Offset: int64(zero),
			Text: "a zero byte: the file is not text"}
	case invalid == 0 || s.characters > invalid:
		return csvbody.UTF8, nil
	case s.undefined:
		return csvbody.Latin1, nil
	}
	return csvbody.Windows1252, nil
}

// isUTF16 reports a byte order mark, or that almost every second byte is zero.
func (s *inspector) isUTF16() bool {
	if bytes.HasPrefix(s.head, []byte{0xff, 0xfe}) || bytes.HasPrefix(s.head, []byte{0xfe, 0xff}) {
		return true
	}
	low, high := 0, 0
	for i := 0; i+1 < len(s.head); i += 2 {
		if s.head[i] == 0 {
			low++
		}
		if s.head[i+1] == 0 {
			high++
		}
	}
	return low == 0 && high > len(s.head)/4 || high == 0 && low > len(s.head)/4
}
