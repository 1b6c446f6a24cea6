package constraint

import "strings"

// token is a piece of Spark's SQL.
type token struct {
	kind tokenKind
	// text is what the token stands for: a word in lower case, a name or a text
	// without its quotes, the digits of a number, the symbol.
	text string
	// name is a word as it is written.
	name string
}

type tokenKind int

const (
	tokEnd tokenKind = iota
	tokWord
	tokName   // `name`
	tokQuoted // "text", which is a text to Spark and a name to delta-rs
	tokText
	tokNumber
	tokSymbol
)

// symbols, longer ones first.
var symbols = []string{"<=>", "::", "<=", ">=", "<>", "!=", "==", "<", ">", "=", "!", "(", ")", ",", ".", "+", "-", "*", "%"}

// sparkTokens cuts text into tokens. Comments, hints, escapes and parameters are
// errors.
func sparkTokens(text string) ([]token, error) {
	var out []token
	for text = strings.TrimLeft(text, " \t\r\n"); text != ""; text = strings.TrimLeft(text, " \t\r\n") {
		t, size, err := nextToken(text)
		if err != nil {
			return nil, err
		}
		out, text = append(out, t), text[size:]
	}
	return append(out, token{}), nil
}

func nextToken(text string) (token, int, error) {
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
		return token{tokWord, strings.ToLower(text[:n]), text[:n]}, n, nil
	case strings.HasPrefix(text, "--"):
		return token{}, 0, invalid("a comment")
	}
	for _, s := range symbols {
		if strings.HasPrefix(text, s) {
			return token{kind: tokSymbol, text: s}, len(s), nil
		}
	}
	return token{}, 0, invalid("the character %q", text[:1])
}

// quotedToken reads up to the closing quote. Doubled quotes and backslashes mean
// different things to different versions and engines.
func quotedToken(text string) (token, int, error) {
	kind := map[byte]tokenKind{'`': tokName, '"': tokQuoted, '\'': tokText}[text[0]]
	end := strings.IndexByte(text[1:], text[0])
	if end < 0 {
		return token{}, 0, invalid("a quote without an end")
	}
	inner, size := text[1:end+1], end+2
	if size < len(text) && text[size] == text[0] || strings.Contains(inner, `\`) {
		return token{}, 0, invalid("a text with quotes or backslashes")
	}
	return token{kind, inner, inner}, size, nil
}

// numberToken reads digits, with a point and an exponent. A suffix that names a
// type (1L, 2BD) is part of the text.
func numberToken(text string) (token, int, error) {
	n := 0
	for n < len(text) && (isDigit(text[n]) || text[n] == '.' || isLetter(text[n]) || (text[n] == '-' || text[n] == '+') && strings.ContainsRune("eE", rune(text[n-1]))) {
		n++
	}
	return token{kind: tokNumber, text: text[:n]}, n, nil
}

func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isLetter(c byte) bool { return c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }
