package csvbody

import (
	"bytes"
	"errors"
	"io"
)

// begin reads the lines that precede the records: a line that declares the delimiter, and the lines
// that the dialect skips.
func (r *Records) begin() error {
	if _, err := r.scan.more(maxDeclaration); err != nil {
		return err
	}
	comma, declared := Declared(r.scan.buffered(), r.scan.quote)
	if r.dialect.NoHeader && r.dialect.Comma != 0 {
		declared = false // the line may be a row, and the delimiter is known
	}
	if declared {
		switch {
		case r.dialect.Comma != 0 && r.dialect.Comma != comma:
			return &OptionError{optionDelimiter, "contradicts the first line of the body, which declares another delimiter"}
		case comma == r.dialect.Comment:
			return &OptionError{optionComment, "must not be the delimiter"}
		}
		r.scan.setComma(comma)
		if _, err := r.scan.rawLine(); err != nil {
			return err
		}
	}
	for range r.dialect.Skip {
		if _, err := r.scan.rawLine(); errors.Is(err, io.EOF) {
			return r.scan.syntax("has fewer lines than csv_skip")
		} else if err != nil {
			return err
		}
	}
	if some, err := r.scan.more(1); err != nil || some || r.dialect.Skip == 0 {
		return err
	}
	return r.scan.syntax("has no lines after those that csv_skip skips")
}

const declaration = "sep="

// maxDeclaration is the length of the longest line that declares a delimiter.
const maxDeclaration = len(declaration + ";\r\n")

// Declared returns the delimiter that the first line of a text declares, as Excel writes and
// reads it: sep=; and an end of line. A line that names quote, a letter or a digit declares nothing.
func Declared(text []byte, quote byte) (comma byte, ok bool) {
	n := len(declaration)
	if len(text) <= n || !bytes.EqualFold(text[:n], []byte(declaration)) {
		return 0, false
	}
	comma, rest := text[n], text[n+1:]
	ends := len(rest) == 0 || rest[0] == '\n' || len(rest) > 1 && rest[0] == '\r' && rest[1] == '\n'
	return comma, ends && comma != quote && isCharacter(comma) && !isWord(comma)
}

// isWord reports whether a byte is a letter or a digit: sep=x is a value.
func isWord(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9'
}

// isCharacter reports whether a byte can be an option of one character.
func isCharacter(b byte) bool { return b < 0x80 && b != 0 && b != '\r' && b != '\n' }

// Comma returns the delimiter: after the first call of Next the one that the body declares, if it
// declares one, otherwise that of the dialect.
func (r *Records) Comma() byte { return r.scan.comma }

// OnComment sets a function that is called with every comment line, including its end of line, and
// with the number of the line. The text is valid until f returns.
func (r *Records) OnComment(f func(text []byte, line int64)) { r.scan.onComment = f }
