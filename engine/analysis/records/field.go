package records

import (
	"bytes"
	"math"
	"math/bits"
	"slices"
	"strings"

	"github.com/lakewarden/lakewarden/engine/analysis"
	"github.com/lakewarden/lakewarden/engine/analysis/similarity"
)

// level is how well two values agree.
type level uint8

const (
	// missing is no evidence: one value, or both, are missing.
	missing level = iota
	different
	similar
	near
	equal
	levels
)

// field is a compared column.
type field struct {
	column          analysis.Column
	kind            kind
	values          *dictionary
	buffer, compact []byte

	// filled is the number of records with a value, counts how often each value occurs.
	filled int
	counts []int32
	// surprise is the evidence of the equality of each value, in bits.
	surprise []float32
	// signs has a set of the characters of each value, phonetic the number of its sound.
	signs    []uint64
	phonetic []uint32
	// vocabulary are the words of the values, wordCounts how many records have each.
	vocabulary *dictionary
	wordCounts []int32
	// bits is the evidence of equal values: two random values are equal with the probability
	// 2^-bits. soundBits is that of equal sounds.
	bits, soundBits float64
}

// measureField computes what is known of the values of column j of a table.
func (t *table) measureField(j int) {
	f, width := t.fields[j], len(t.fields)
	f.counts = make([]int32, f.values.size()+1)
	for at := j; at < len(t.codes); at += width {
		f.counts[t.codes[at]]++
	}
	f.filled = t.records() - int(f.counts[0])
	f.bits = collision(f.counts, f.filled)
	f.surprise = make([]float32, len(f.counts))
	for n, count := range f.counts {
		f.surprise[n] = float32(-math.Log2(float64(max(count, 1)) / float64(max(f.filled, 1))))
	}
	if f.kind != words && f.kind != digits {
		return
	}
	f.signs = make([]uint64, len(f.counts))
	sounds := newDictionary()
	if f.kind == words {
		f.phonetic, f.vocabulary, f.wordCounts = make([]uint32, len(f.counts)), newDictionary(), []int32{0}
	}
	for n := uint32(1); int(n) < len(f.counts); n++ {
		text := f.values.text(n)
		f.signs[n] = characters(text)
		if f.kind == words {
			if key := similarity.Phonetic(string(text)); key != "" {
				f.phonetic[n] = sounds.number([]byte(key))
			}
			f.addWords(text, f.counts[n])
		}
	}
	if f.kind == words {
		counts := make([]int32, sounds.size()+1)
		for n, count := range f.counts {
			counts[f.phonetic[n]] += count
		}
		f.soundBits = collision(counts, t.records()-int(counts[0]))
	}
}

// collision returns the bits that equality of two random values is worth, of values with
// counts, of which the first is that of missing values.
func collision(counts []int32, filled int) float64 {
	if filled < 2 {
		return 0
	}
	pairs := 0.0
	for _, count := range counts[1:] {
		pairs += float64(count) * float64(count-1)
	}
	return -math.Log2(max(pairs, 1) / (float64(filled) * float64(filled-1)))
}

// characters returns the set of the letters and digits of a text.
func characters(text []byte) uint64 {
	var set uint64
	for _, b := range text {
		switch {
		case 'a' <= b && b <= 'z':
			set |= 1 << (b - 'a')
		case '0' <= b && b <= '9':
			set |= 1 << (26 + b - '0')
		case b != ' ':
			set |= 1 << (36 + b%28)
		}
	}
	return set
}

// compare returns how well two values agree.
func (f *field) compare(a, b uint32) level {
	switch {
	case a == 0 || b == 0:
		return missing
	case a == b:
		return equal
	case f.kind == words:
		return f.compareWords(a, b)
	case f.kind == digits:
		return f.compareDigits(a, b)
	}
	return different
}

// compareDigits compares codes, numbers and dates.
func (f *field) compareDigits(a, b uint32) level {
	// A replaced character changes at most two of the set.
	if bits.OnesCount64(f.signs[a]^f.signs[b]) > 4 {
		return different
	}
	x, y := string(f.values.text(a)), string(f.values.text(b))
	if len(x) < 3 || len(y) < 3 {
		return different
	}
	switch similarity.Distance(x, y, 2) {
	case 1:
		return near
	case 2:
		if min(len(x), len(y)) >= 6 {
			return similar
		}
	}
	if len(x) == 8 && len(y) == 8 && x[:4] == y[:4] && x[4:6] == y[6:] && x[6:] == y[4:6] {
		return near // The day and the month are swapped.
	}
	return different
}

// Similarities from which words agree.
const (
	nearWords    = 0.92
	similarWords = 0.85
)

// addWords counts the words of a text of several words.
func (f *field) addWords(text []byte, count int32) {
	if bytes.IndexByte(text, ' ') < 0 {
		return
	}
	for word := range bytes.FieldsSeq(text) {
		n := f.vocabulary.number(word)
		if int(n) == len(f.wordCounts) {
			f.wordCounts = append(f.wordCounts, 0)
		}
		f.wordCounts[n] += count
	}
}

// usualWord is the number of records from which on a word is no typing error.
const usualWord = 20

// distinguished reports whether two texts differ in usual words that are not alike, as the
// sizes and colours of products: they name different things.
func (f *field) distinguished(x, y string) bool {
	a, b := strings.Fields(x), strings.Fields(y)
	if len(a) != len(b) || len(a) < 2 {
		return false
	}
	usual := func(word string) bool { return f.wordCounts[f.vocabulary.find([]byte(word))] >= usualWord }
	for i, word := range a {
		other := b[i]
		if word == other || strings.HasPrefix(word, other) && len(other) > 1 || strings.HasPrefix(other, word) && len(word) > 1 {
			continue
		}
		shorter := min(len(word), len(other))
		if 2*similarity.Distance(word, other, shorter) >= shorter && usual(word) && usual(other) && !slices.Contains(b, word) {
			return true
		}
	}
	return false
}

// compareWords compares names and other texts.
func (f *field) compareWords(a, b uint32) level {
	common := bits.OnesCount64(f.signs[a] & f.signs[b])
	if 2*common < min(bits.OnesCount64(f.signs[a]), bits.OnesCount64(f.signs[b])) {
		return different
	}
	x, y := string(f.values.text(a)), string(f.values.text(b))
	l := f.alike(a, b, x, y)
	if l != different && f.distinguished(x, y) {
		return different
	}
	return l
}

// alike compares texts by their letters and sounds.
func (f *field) alike(a, b uint32, x, y string) level {
	errors := 1
	if min(len(x), len(y)) >= 8 {
		errors = 2
	}
	distance := similarity.Distance(x, y, errors)
	// Texts with other numbers are other things: house 12 is not house 13.
	if (f.signs[a]|f.signs[b])>>26&0x3ff != 0 && number(x) != number(y) {
		if distance <= 1 && strings.Count(x, " ") >= 2 {
			return similar
		}
		return different
	}
	if distance <= errors && min(len(x), len(y)) >= 3 {
		return near
	}
	jaro := similarity.JaroWinkler(x, y)
	switch {
	case jaro >= nearWords && min(len(x), len(y)) >= 4:
		return near
	case jaro >= similarWords, f.phonetic[a] != 0 && f.phonetic[a] == f.phonetic[b], similarity.Abbreviates(x, y),
		similarity.Abbreviates(y, x):
		return similar
	case strings.IndexByte(x, ' ') > 0 && strings.IndexByte(y, ' ') > 0 && similarity.TokenSet(x, y) >= 0.66:
		return similar
	}
	return different
}

// number returns the words of a text that have digits.
func number(text string) string {
	var b strings.Builder
	for word := range strings.FieldsSeq(text) {
		if strings.ContainsAny(word, "0123456789") {
			b.WriteString(word)
			b.WriteByte(' ')
		}
	}
	return b.String()
}
