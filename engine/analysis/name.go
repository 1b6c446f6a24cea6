package analysis

import (
	"strings"
	"unicode"
)

// Words returns the words of a column's name in lower case. A word ends before any other
// character than a letter or digit, before a capital that follows a small letter, and between
// letters and digits.
func Words(name string) []string {
	var words []string
	var word strings.Builder
	flush := func() {
		if word.Len() > 0 {
			words = append(words, word.String())
			word.Reset()
		}
	}
	var before rune
	for _, r := range name {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			flush()
		case unicode.IsUpper(r) && unicode.IsLower(before),
			before != 0 && unicode.IsDigit(r) != unicode.IsDigit(before):
			flush()
			fallthrough
		default:
			word.WriteRune(unicode.ToLower(r))
		}
		before = r
	}
	flush()
	return words
}
