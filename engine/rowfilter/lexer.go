package rowfilter

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"
)

// position is a place in a text; both count from 1, column in characters.
type position struct{ line, column int }

func (p position) errorf(message string) error {
	return &TextError{Line: p.line, Column: p.column, Message: message}
}

type tokenKind int

const (
	tokenEOF tokenKind = iota
	tokenIdent
	tokenInt
	tokenString
	tokenSymbol
)

// token is a word of a text. The text of a string is what stands between its
// quotes, escapes included.
type token struct {
	kind tokenKind
	text string
	at   position
}

// symbols, longest first.
var symbols = []string{"==", "!=", "<=", ">=", "&&", "||", "::", "(", ")", "{", "}", "[", "]", ",", ";", ".", "<", ">", "!", "-", "@", ":"}

// lex splits a text into tokens, ending with one of kind tokenEOF.
func lex(text string) ([]token, error) {
	at := position{1, 1}
	var out []token
	// advance moves behind n bytes of text.
	advance := func(n int) {
		for _, r := range text[:n] {
			if r == '\n' {
				at.line++
				at.column = 1
			} else {
				at.column++
			}
		}
		text = text[n:]
	}
	if !utf8.ValidString(text) {
		return nil, at.errorf("is not valid UTF-8")
	}
	for text != "" {
		if n := blank(text); n > 0 {
			advance(n)
			continue
		}
		tok := token{at: at}
		n := 0
		switch c := text[0]; {
		case identByte(c, true):
			for n < len(text) && identByte(text[n], false) {
				n++
			}
			tok.kind, tok.text = tokenIdent, text[:n]
		case c >= '0' && c <= '9':
			for n < len(text) && text[n] >= '0' && text[n] <= '9' {
				n++
			}
			tok.kind, tok.text = tokenInt, text[:n]
		case c == '"':
			n = stringEnd(text)
			if n == 0 {
				return nil, at.errorf("string has no closing quote on its line")
			}
			tok.kind, tok.text = tokenString, text[1:n-1]
		default:
			for _, s := range symbols {
				if strings.HasPrefix(text, s) {
					tok.kind, tok.text, n = tokenSymbol, s, len(s)
					break
				}
			}
			if n == 0 {
				return nil, at.errorf("unexpected character")
			}
		}
		out = append(out, tok)
		advance(n)
	}
	return append(out, token{at: at}), nil
}

// blank returns the length of the white space or comment that text starts with.
func blank(text string) int {
	if strings.HasPrefix(text, "//") {
		if n := strings.IndexByte(text, '\n'); n >= 0 {
			return n
		}
		return len(text)
	}
	n := 0
	for n < len(text) && strings.IndexByte(" \t\r\n", text[n]) >= 0 {
		n++
	}
	return n
}

func identByte(c byte, first bool) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || !first && c >= '0' && c <= '9'
}

// stringEnd returns the length of the string literal that text starts with, or
// 0 when it does not end.
func stringEnd(text string) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		case '\n':
			return 0
		}
	}
	return 0
}

var errEscape = errors.New("unknown escape in string")

// unquote resolves the escapes of a string's inside. As a pattern, a bare *
// stands for any characters and \* for itself; otherwise \* is an error. The
// whole string is returned as well.
func unquote(s string, pattern bool) ([]piece, string, error) {
	var out []piece
	var all strings.Builder
	add := func(r rune) {
		out = appendText(out, string(r))
		all.WriteRune(r)
	}
	for s != "" {
		r, n := utf8.DecodeRuneInString(s)
		s = s[n:]
		switch {
		case r == '*' && pattern:
			out = appendAny(out)
			continue
		case r != '\\':
			add(r)
			continue
		case s == "":
			return nil, "", errEscape
		}
		c := s[0]
		s = s[1:]
		switch c {
		case 'n':
			add('\n')
		case 'r':
			add('\r')
		case 't':
			add('\t')
		case '0':
			add(0)
		case '\\', '\'', '"':
			add(rune(c))
		case '*':
			if !pattern {
				return nil, "", errEscape
			}
			add('*')
		case 'x':
			if len(s) < 2 {
				return nil, "", errEscape
			}
			v, err := strconv.ParseUint(s[:2], 16, 8)
			if err != nil || v > 0x7f {
				return nil, "", errEscape
			}
			add(rune(v))
			s = s[2:]
		case 'u':
			end := strings.IndexByte(s, '}')
			if !strings.HasPrefix(s, "{") || end < 2 || end > 7 {
				return nil, "", errEscape
			}
			v, err := strconv.ParseUint(s[1:end], 16, 32)
			if err != nil || !utf8.ValidRune(rune(v)) {
				return nil, "", errEscape
			}
			add(rune(v))
			s = s[end+1:]
		default:
			return nil, "", errEscape
		}
	}
	return out, all.String(), nil
}
