package similarity

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// letters are the letters that Unicode does not decompose, with their usual spelling.
var letters = map[rune]string{
	'ß': "ss", 'ẞ': "ss", 'æ': "ae", 'Æ': "ae", 'œ': "oe", 'Œ': "oe", 'ø': "o", 'Ø': "o", 'đ': "d", 'Đ': "d", 'ð': "d", 'Ð': "d",
	'þ': "th", 'Þ': "th", 'ł': "l", 'Ł': "l", 'ħ': "h", 'Ħ': "h", 'ı': "i", 'ĸ': "k", 'ŋ': "n", 'Ŋ': "n", 'ŧ': "t", 'Ŧ': "t",
}

// ascii reports whether s has ASCII characters only.
func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// Fold returns s in lower case, in compatible composition (ﬁ is fi, ① is 1) and without
// accents and other marks on letters.
func Fold(s string) string {
	if ascii(s) {
		return strings.ToLower(s)
	}
	var b strings.Builder
	b.Grow(len(s))
	for _, r := range norm.NFKD.String(s) {
		switch spelling, ok := letters[r]; {
		case ok:
			b.WriteString(spelling)
		case unicode.Is(unicode.Mn, r):
		default:
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return b.String()
}

// IsMark reports whether keys leave out a character: punctuation, a symbol of ASCII or a
// control character that is no space.
func IsMark(r rune) bool {
	if unicode.IsSpace(r) {
		return false
	}
	return unicode.IsPunct(r) || unicode.IsControl(r) || r < utf8.RuneSelf && unicode.IsSymbol(r)
}

// Normalize returns the folded words of s, separated by single spaces. Apostrophes and dots
// vanish (O'Neil is oneil, U.S. is us), all other punctuation separates words.
func Normalize(s string) string {
	folded := Fold(s)
	var b strings.Builder
	b.Grow(len(folded))
	gap := false
	for _, r := range folded {
		switch {
		case r == '\'' || r == '’' || r == '`' || r == '.':
		case unicode.IsSpace(r) || IsMark(r):
			gap = b.Len() > 0
		default:
			if gap {
				b.WriteByte(' ')
			}
			gap = false
			b.WriteRune(r)
		}
	}
	return b.String()
}

// bare returns the folded s without punctuation.
func bare(s string) string {
	return strings.Map(func(r rune) rune {
		if IsMark(r) {
			return -1
		}
		return r
	}, Fold(s))
}

// Fingerprint returns the key of OpenRefine's clustering by fingerprint: the distinct words of
// s in order, folded and without punctuation. Other than in [Normalize], no punctuation
// separates words.
func Fingerprint(s string) string {
	words := strings.Fields(bare(s))
	slices.Sort(words)
	return strings.Join(slices.Compact(words), " ")
}

// NGramFingerprint returns the key of OpenRefine's clustering by n-grams: the distinct
// sequences of n characters of s in order, folded and without punctuation and spaces. A text
// of fewer than n characters is its own key. n is positive.
func NGramFingerprint(s string, n int) string {
	runes := []rune(strings.Join(strings.Fields(bare(s)), ""))
	if len(runes) <= n {
		return string(runes)
	}
	grams := make([]string, 0, len(runes)-n+1)
	for i := range len(runes) - n + 1 {
		grams = append(grams, string(runes[i:i+n]))
	}
	slices.Sort(grams)
	return strings.Join(slices.Compact(grams), "")
}
