package analysis

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Count returns a number with a noun whose plural ends in s, as in "1,200 rows".
func Count(n int64, noun string) string { return Plural(n, noun, noun+"s") }

// Plural returns a number with the words that follow it: one after 1, many after any other
// number.
func Plural(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Thousands(n) + " " + many
}

// Thousands returns a number with commas between thousands.
func Thousands(n int64) string {
	if n < 0 {
		return "-" + Thousands(-n)
	}
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Percent returns a share as in "12.5 %". A share that is less than 1 does not become 100 %.
func Percent(share float64) string {
	p := share * 100
	switch {
	case p > 0 && p < 0.1:
		return "less than 0.1 %"
	case p < 100 && p > 99.9:
		return "more than 99.9 %"
	}
	return strconv.FormatFloat(math.Round(p*10)/10, 'f', -1, 64) + " %"
}

// List joins items as in "a, b and c". Items beyond most are only counted.
func List(items []string, most int) string {
	if len(items) > most {
		return strings.Join(items[:most], ", ") + fmt.Sprintf(" and %d more", len(items)-most)
	}
	if len(items) < 2 {
		return strings.Join(items, "")
	}
	return strings.Join(items[:len(items)-1], ", ") + " and " + items[len(items)-1]
}

// Cut returns the first characters of a text.
func Cut(text string, characters int) string {
	for i := range text {
		if characters == 0 {
			return text[:i]
		}
		characters--
	}
	return text
}

// InQuotes returns a value or a name in quotation marks for a sentence: shortened, without
// control characters, and without brackets that could be read as a tag.
func InQuotes(text string) string {
	const most = 40
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == utf8.RuneError {
			return ' '
		}
		return r
	}, text)
	text = strings.NewReplacer("[[", "[ [", "]]", "] ]").Replace(text)
	if short := Cut(text, most); short != text {
		text = short + "…"
	}
	return `"` + text + `"`
}

// RoundConfidence returns a confidence with two digits, between 0 and 1.
func RoundConfidence(confidence float64) float64 {
	return math.Round(min(max(confidence, 0), 1)*100) / 100
}
