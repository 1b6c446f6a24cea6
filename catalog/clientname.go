package catalog

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// productName is the name that the consent page shows for the built-in client, without regard to case.
const productName = "lakewarden"

// lookalikes maps letters and digits to the Latin letters of the product's name that they look like.
var lookalikes = strings.NewReplacer(
	"1", "l", "|", "l", "\u0131", "l", "\u04cf", "l", "\u03b9", "l", // one, bar, dotless i, palochka, iota
	"4", "a", "@", "a", "\u0430", "a", "\u03b1", "a", "\u0251", "a",
	"\u043a", "k", "\u03ba", "k",
	"3", "e", "\u0435", "e", "\u03b5", "e",
	"vv", "w", "\u051d", "w", "\u0461", "w", "\u03c9", "w",
	"\u0433", "r", "\u0501", "d",
	"\u043f", "n", "\u03b7", "n", "\u0578", "n", "\u03bd", "n", // the capital of nu is that of n
	"\u0142", "l", "\u01c0", "l", "\u0111", "d", "cl", "d", // letters with strokes, and two that look like one
	"\u029f", "l", "\u1d00", "a", "\u1d0b", "k", "\u1d07", "e", "\u1d21", "w", "\u0280", "r", "\u1d05", "d", "\u0274", "n", // small capitals
)

// imitatesProduct reports whether a person could mistake a name for the product's own.
func imitatesProduct(name string) bool {
	letters := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '|', r == '@':
			return unicode.ToLower(r)
		}
		return -1
	}, norm.NFKD.String(name))
	plain := lookalikes.Replace(letters)
	// I and l look alike in many fonts.
	return strings.Contains(strings.ReplaceAll(plain, "i", "l"), productName)
}

// clientName checks the name of a client.
func (e *FieldErrors) clientName(name string) {
	e.text("name", name, 1, 100)
	switch {
	case imitatesProduct(name):
		e.add("name", "must not imitate the name of the product")
	case mixesScripts(name):
		e.add("name", "must not mix Latin and other letters in a word")
	}
}

// mixesScripts reports whether a word of a name has Latin letters and letters of another script, which
// people cannot tell apart.
func mixesScripts(name string) bool {
	for word := range strings.FieldsFuncSeq(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) }) {
		latin := strings.ContainsFunc(word, func(r rune) bool { return unicode.Is(unicode.Latin, r) })
		other := strings.ContainsFunc(word, func(r rune) bool {
			return !unicode.In(r, unicode.Latin, unicode.Common, unicode.Inherited)
		})
		if latin && other {
			return true
		}
	}
	return false
}
