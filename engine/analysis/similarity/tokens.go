package similarity

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// TokenSet returns the part of words that two texts have in common, whatever their order:
// twice the number of common distinct words by the number of distinct words of both. Words
// are separated by spaces; see [Normalize].
func TokenSet(a, b string) float64 {
	x, y := distinct(a), distinct(b)
	if len(x)+len(y) == 0 {
		return 1
	}
	common := 0
	for _, word := range x {
		if _, found := slices.BinarySearch(y, word); found {
			common++
		}
	}
	return 2 * float64(common) / float64(len(x)+len(y))
}

func distinct(s string) []string {
	words := strings.Fields(s)
	slices.Sort(words)
	return slices.Compact(words)
}

// Initials returns the first characters of the words of a text.
func Initials(s string) string {
	var b strings.Builder
	for _, word := range strings.Fields(s) {
		r, _ := utf8.DecodeRuneInString(word)
		b.WriteRune(r)
	}
	return b.String()
}

// Abbreviates reports whether a text is a shorter form of another one, both as [Normalize]
// returns them: its words are beginnings of the other's words (j smith of john smith), or it
// is one word of the initials of the other's words (ibm of international business machines).
func Abbreviates(short, long string) bool {
	if len(short) >= len(long) || short == "" {
		return false
	}
	x, y := strings.Fields(short), strings.Fields(long)
	if len(x) == 1 && len(y) > 1 && utf8.RuneCountInString(x[0]) > 1 {
		return x[0] == Initials(long)
	}
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		if !strings.HasPrefix(y[i], x[i]) {
			return false
		}
	}
	return true
}
