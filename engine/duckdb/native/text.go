package native

import (
	"strings"
	"unicode/utf8"

	"github.com/lakewarden/lakewarden/engine"
)

// maxFailureText bounds the text of a failure in the log: an internal error of DuckDB includes
// its stack.
const maxFailureText = 4 << 10

// QuoteList returns a SQL list of string literals.
func QuoteList(items []string) string {
	quoted := make([]string, len(items))
	for i, item := range items {
		quoted[i] = engine.QuoteString(item)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// ByteOffset turns a position counted in characters, as the parser reports it,
// into one counted in bytes.
func ByteOffset(sql string, position int) int {
	if position < 0 {
		return -1
	}
	for i := range sql {
		if position == 0 {
			return i
		}
		position--
	}
	return len(sql)
}

// CheckText refuses text that cannot be passed to C: a NUL would truncate it silently, and invalid
// UTF-8 makes DuckDB throw an exception that crosses into Go.
func CheckText(s string) error {
	if i := strings.IndexByte(s, 0); i >= 0 {
		return &engine.Error{Kind: engine.KindSyntax, Class: "invalid_character", Position: i, Text: "NUL byte"}
	}
	if !utf8.ValidString(s) {
		return &engine.Error{Kind: engine.KindSyntax, Class: "invalid_utf8", Position: invalidAt(s), Text: "invalid UTF-8"}
	}
	return nil
}

func invalidAt(s string) int {
	for i, r := range s {
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(s[i:]); size == 1 {
				return i
			}
		}
	}
	return -1
}

// Clip shortens a text for the log.
func Clip(text string) string {
	if len(text) <= maxFailureText {
		return text
	}
	return strings.ToValidUTF8(text[:maxFailureText], "")
}
