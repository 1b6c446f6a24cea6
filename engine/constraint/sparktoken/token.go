package sparktoken

import (
	"fmt"
	"strings"
)

// Token is a token of Spark's SQL.
type Token struct {
	Kind Kind
	// Text is the value of the token: a word in lower case, a name or a text without
	// its quotes, the digits of a number, the symbol.
	Text string
	// Name is a word in its original case.
	Name string
}

// Kind is the kind of a token.
type Kind int

// The kinds.
const (
	End Kind = iota // after the last token
	Word
	Name   // `name`
	Quoted // "text", which is a text to Spark and a name to delta-rs
	Text
	Number
	Symbol
)

// symbols, longer ones first.
var symbols = []string{"<=>", "::", "<=", ">=", "<>", "!=", "==", "<", ">", "=", "!", "(", ")", ",", ".", "+", "-", "*", "%"}

// Scan splits text into tokens and ends them with one of kind [End]. Comments, hints,
// escapes and parameters are errors.
func Scan(text string) ([]Token, error) {
	var out []Token
	for text = strings.TrimLeft(text, " \t\r\n"); text != ""; text = strings.TrimLeft(text, " \t\r\n") {
		t, size, err := nextToken(text)
		if err != nil {
			return nil, err
		}
		out, text = append(out, t), text[size:]
	}
	return append(out, Token{}), nil
}

func nextToken(text string) (Token, int, error) {
	switch c := text[0]; {
	case c == '`' || c == '"' || c == '\'':
		return quotedToken(text)
	case isDigit(c) || c == '.' && len(text) > 1 && isDigit(text[1]):
		return numberToken(text)
	case isLetter(c):
		n := 1
		for n < len(text) && (isLetter(text[n]) || isDigit(text[n])) {
			n++
		}
		return Token{Word, strings.ToLower(text[:n]), text[:n]}, n, nil
	case strings.HasPrefix(text, "--"):
		return Token{}, 0, fmt.Errorf("a comment")
	}
	for _, s := range symbols {
		if strings.HasPrefix(text, s) {
			return Token{Kind: Symbol, Text: s}, len(s), nil
		}
	}
	return Token{}, 0, fmt.Errorf("the character %q", text[:1])
}

// quotedToken returns the token up to the closing quote. It refuses doubled quotes and backslashes,
// because versions and engines interpret them differently.
func quotedToken(text string) (Token, int, error) {
	kind := map[byte]Kind{'`': Name, '"': Quoted, '\'': Text}[text[0]]
	end := strings.IndexByte(text[1:], text[0])
	if end < 0 {
		return Token{}, 0, fmt.Errorf("a quote without an end")
	}
	inner, size := text[1:end+1], end+2
	if size < len(text) && text[size] == text[0] || strings.Contains(inner, `\`) {
		return Token{}, 0, fmt.Errorf("a text with quotes or backslashes")
	}
	return Token{kind, inner, inner}, size, nil
}

// numberToken returns a token of digits, with a point and an exponent. A suffix that names a type
// (1L, 2BD) is part of the text.
func numberToken(text string) (Token, int, error) {
	n := 0
	for n < len(text) && (isDigit(text[n]) || text[n] == '.' || isLetter(text[n]) ||
		(text[n] == '-' || text[n] == '+') && strings.ContainsRune("eE", rune(text[n-1]))) {
		n++
	}
	return Token{Kind: Number, Text: text[:n]}, n, nil
}

func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isLetter(c byte) bool { return c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }
