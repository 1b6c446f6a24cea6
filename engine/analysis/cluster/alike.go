package cluster

import (
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/lakewarden/lakewarden/engine/analysis/similarity"
)

// parts is a text as it is compared with another form of the same value.
type parts struct {
	text string
	rows int64
	// words are the folded words, squeezed are they without separators.
	words    []string
	squeezed string
	// digits are the runs of digits in order, signs the signs that have a meaning.
	digits, signs string
}

func partsOf(v Form) *parts {
	folded := similarity.Fold(v.Text)
	p := parts{text: v.Text, rows: v.Rows}
	p.words = strings.FieldsFunc(strings.Map(withoutApostrophe, folded), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	p.squeezed = strings.Join(p.words, "")
	p.digits = digitsOf(folded)
	p.signs = signsOf(folded, p.words)
	return &p
}

// digitsOf returns the runs of digits of a text, with the signs that join two runs to one number.
func digitsOf(folded string) string {
	var b strings.Builder
	runes := []rune(folded)
	for i, r := range runes {
		joins := strings.ContainsRune(".,/:", r) && i > 0 && i+1 < len(runes) && unicode.IsDigit(runes[i-1]) && unicode.IsDigit(runes[i+1])
		switch {
		case unicode.IsDigit(r) || joins:
			b.WriteRune(r)
		case i > 0 && unicode.IsDigit(runes[i-1]):
			b.WriteByte(' ')
		}
	}
	return strings.TrimSuffix(b.String(), " ")
}

func withoutApostrophe(r rune) rune {
	if r == '\'' || r == '’' || r == '`' || r == '.' {
		return -1
	}
	return r
}

// signsOf returns the signs of a text that distinguish values: those of programming languages,
// amounts and comparisons anywhere, and a minus at the end of a short word, as of grades and
// blood groups.
func signsOf(folded string, words []string) string {
	var b strings.Builder
	for _, r := range folded {
		if strings.ContainsRune("+#%<>=$€£¥°±≤≥", r) {
			b.WriteRune(r)
		}
	}
	trimmed := strings.TrimSpace(folded)
	if strings.HasSuffix(trimmed, "-") || strings.HasSuffix(trimmed, "−") {
		if len(words) > 0 && utf8.RuneCountInString(words[len(words)-1]) <= 2 {
			b.WriteByte('-')
		}
	}
	return b.String()
}

// The methods by which two forms are joined, from the surest.
const (
	byFingerprint = iota + 1
	byBigrams
	byLetters
	byPhonetics
	byEdit
)

// methodNames are the names of the methods in results.
var methodNames = [...]string{"", "fingerprint", "ngram2", "ngram1", "phonetic", "edit"}

// sameKey judges whether two forms with an equal key of a method are forms of one value, where
// main is not less frequent than the other. It returns 0 for no.
func sameKey(main, other *parts, method int, few bool) float64 {
	ratio := float64(main.rows) / float64(max(1, other.rows))
	switch {
	case main.digits != other.digits || main.signs != other.signs || main.squeezed == "" || other.squeezed == "":
		return 0
	case main.squeezed == other.squeezed:
		return sameLetters(main, other, few)
	case method == byFingerprint:
		return sameWords(main, other, ratio)
	}
	return misspelt(main, other, ratio)
}

// sameLetters judges forms with the same letters and digits in the same order.
func sameLetters(main, other *parts, few bool) float64 {
	if slices.Equal(main.words, other.words) {
		if utf8.RuneCountInString(main.squeezed) == 1 && !few {
			return 0
		}
		return 0.95
	}
	// The words of one must be made of whole words of the other.
	if subset(ends(main.words), ends(other.words)) || subset(ends(other.words), ends(main.words)) {
		return 0.9
	}
	return 0
}

// ends returns where words end in the text without separators.
func ends(words []string) []int {
	out, at := make([]int, len(words)), 0
	for i, word := range words {
		at += len(word)
		out[i] = at
	}
	return out
}

func subset(a, b []int) bool {
	for _, x := range a {
		if !slices.Contains(b, x) {
			return false
		}
	}
	return true
}

// directions are words whose neighbours cannot change places.
var directions = map[string]bool{"to": true, "from": true, "vs": true, "v": true, "versus": true, "over": true, "before": true,
	"after": true, "und": false, "nach": true, "von": true, "of": true}

// sameWords judges forms with the same words in another order, or with repeated words.
func sameWords(main, other *parts, ratio float64) float64 {
	a, b := slices.Sorted(slices.Values(main.words)), slices.Sorted(slices.Values(other.words))
	repeated := !slices.Equal(a, b)
	if repeated && !slices.Equal(slices.Compact(a), slices.Compact(b)) {
		return 0
	}
	distinct := len(slices.Compact(a))
	comma := strings.Contains(main.text, ",") != strings.Contains(other.text, ",")
	switch {
	case repeated && (distinct < 2 || ratio < 3):
		return 0
	case repeated:
		return 0.85
	case slices.ContainsFunc(a, func(word string) bool { return directions[word] }):
		return 0
	case comma:
		return 0.9
	case slices.ContainsFunc(a, func(word string) bool { return len(word) < 2 }) && ratio < imbalance:
		return 0
	case distinct >= 3, ratio >= imbalance:
		return 0.85
	}
	return 0
}

// misspelt judges forms that differ by doubled, left out or swapped letters of a long word.
// Short words that differ so can be different names.
func misspelt(main, other *parts, ratio float64) float64 {
	if firstOf(main.squeezed) != firstOf(other.squeezed) {
		return 0
	}
	distance := similarity.Distance(main.squeezed, other.squeezed, 2)
	if distance > 2 || differing(main, other) < 8 || !sameLetterSets(main, other) {
		return 0
	}
	switch change := changeOf(main.squeezed, other.squeezed, distance); {
	case change == swapped || change == doubled:
		return 0.85
	case change == inserted, ratio >= imbalance && change != lastChanged:
		return 0.8
	}
	return 0
}

// sameLetterSets reports whether words at the same place have the same letters, unless the
// numbers of words differ.
func sameLetterSets(a, b *parts) bool {
	if len(a.words) != len(b.words) {
		return true
	}
	for i, word := range a.words {
		if word != b.words[i] && similarity.NGramFingerprint(word, 1) != similarity.NGramFingerprint(b.words[i], 1) {
			return false
		}
	}
	return true
}

// The kinds of changes of one letter.
const (
	otherChange = iota
	swapped     // two neighbours changed places
	doubled     // a letter became two, or two became one
	inserted    // another letter was added or left out, not at the end
	lastChanged // the last letter was added, left out or replaced
)

// changeOf returns how two texts with a distance differ.
func changeOf(a, b string, distance int) int {
	if distance != 1 {
		return otherChange
	}
	x, y := []rune(a), []rune(b)
	if len(x) > len(y) {
		x, y = y, x
	}
	at := 0
	for at < len(x) && x[at] == y[at] {
		at++
	}
	switch {
	case len(x) == len(y) && at+1 < len(x) && x[at+1] != y[at+1]:
		return swapped
	case len(x) < len(y) && at > 0 && y[at] == y[at-1]:
		return doubled
	case at >= len(x)-1 && len(x) == len(y) || at == len(x):
		return lastChanged
	case len(x) < len(y):
		return inserted
	}
	return otherChange
}

// differing returns the length of the shortest of the words in which two forms differ, or half
// that of the shorter form if they have different numbers of words. It is 0 if a word with a
// digit differs, because such words are codes.
func differing(a, b *parts) int {
	if len(a.words) != len(b.words) {
		if a.digits != "" {
			return 0
		}
		return min(utf8.RuneCountInString(a.squeezed), utf8.RuneCountInString(b.squeezed)) / 2
	}
	least := math.MaxInt
	for i, word := range a.words {
		if word == b.words[i] {
			continue
		}
		if hasDigit(word) || hasDigit(b.words[i]) {
			return 0
		}
		least = min(least, utf8.RuneCountInString(word), utf8.RuneCountInString(b.words[i]))
	}
	return least
}

func firstOf(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}

func hasDigit(text string) bool { return strings.ContainsAny(text, "0123456789") }
