package policy

import (
	"iter"
	"strings"
	"unicode/utf8"
)

// position is a place in a text. Line and column count from 1, column in characters.
type position struct{ line, column int }

func (p position) errorf(message string) error {
	return &TextError{Line: p.line, Column: p.column, Message: message}
}

// token is a word, a string with its quotes, or a symbol of a policy text.
type token struct {
	text string
	at   position
}

// tokens splits a text into Cedar's tokens and leaves out white space and comments.
// It serves positions and limits only, so it accepts every text: cedar-go decides what
// is a policy.
func tokens(text string) iter.Seq[token] {
	return func(yield func(token) bool) {
		at := position{1, 1}
		for text != "" {
			n, blank := tokenLength(text)
			if !blank && !yield(token{text[:n], at}) {
				return
			}
			for _, r := range text[:n] {
				at.column++
				if r == '\n' {
					at = position{at.line + 1, 1}
				}
			}
			text = text[n:]
		}
	}
}

// tokenLength returns the length in bytes of the token that text starts with, and
// whether it is white space or a comment.
func tokenLength(text string) (n int, blank bool) {
	switch c := text[0]; {
	case strings.IndexByte(" \t\r\n", c) >= 0:
		return 1, true
	case strings.HasPrefix(text, "//"):
		return lengthThrough(text, 2, "\n"), true
	case strings.HasPrefix(text, "/*"):
		return lengthThrough(text, 2, "*/"), true
	case c == '"':
		return stringLength(text), false
	case wordByte(c):
		for n < len(text) && wordByte(text[n]) {
			n++
		}
		return n, false
	}
	for _, symbol := range []string{"==", "!=", "<=", ">=", "&&", "||", "::"} {
		if strings.HasPrefix(text, symbol) {
			return len(symbol), false
		}
	}
	_, n = utf8.DecodeRuneInString(text)
	return n, false
}

// lengthThrough returns the length of text through the first end after from, or of
// all of text.
func lengthThrough(text string, from int, end string) int {
	if i := strings.Index(text[from:], end); i >= 0 {
		return from + i + len(end)
	}
	return len(text)
}

// stringLength returns the length of the string literal that text starts with. One
// that does not end takes the rest of text.
func stringLength(text string) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

func wordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
