package mapping

import (
	_ "embed" // synonyms.txt
	"strings"
	"sync"

	"github.com/lakewarden/lakewarden/engine/analysis"
	"github.com/lakewarden/lakewarden/engine/analysis/similarity"
)

// synonyms has a line for each meaning: the words of the meaning, and the words that stand
// for it, in lower case and without accents.
//
//go:embed synonyms.txt
var synonyms string

// meanings maps words of headers to the words that they stand for: abbreviations, synonyms,
// and words of German, French and Spanish.
var meanings = sync.OnceValue(func() map[string][]string {
	out := map[string][]string{}
	for line := range strings.SplitSeq(synonyms, "\n") {
		meaning, words, _ := strings.Cut(line, ":")
		for w := range strings.FieldsSeq(words) {
			out[w] = strings.Fields(meaning)
		}
	}
	return out
})

// concepts returns the words of a name, with what they stand for in their place.
func concepts(name string) []string {
	words := plainWords(name)
	if meaning, known := meanings()[strings.Join(words, "")]; known {
		return meaning
	}
	var out []string
	for i := 0; i < len(words); i++ {
		if i+1 < len(words) {
			if meaning, known := meanings()[words[i]+words[i+1]]; known {
				out = append(out, meaning...)
				i++
				continue
			}
		}
		if meaning, known := meanings()[words[i]]; known {
			out = append(out, meaning...)
			continue
		}
		out = append(out, singular(words[i]))
	}
	return out
}

// plainWords returns the words of a name without accents.
func plainWords(name string) []string {
	words := analysis.Words(name)
	for i, w := range words {
		words[i] = similarity.Fold(w)
	}
	return words
}

func singular(w string) string {
	switch {
	case len(w) > 4 && strings.HasSuffix(w, "ies"):
		return w[:len(w)-3] + "y"
	case len(w) > 3 && strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") && !strings.HasSuffix(w, "us"):
		return w[:len(w)-1]
	}
	return w
}

// filler are words that name no value.
var filler = map[string]bool{"the": true, "of": true, "a": true, "in": true, "for": true, "field": true, "column": true, "col": true,
	"is": true}

const (
	// alikeWord is the similarity from which two words count as one, alikeName that from
	// which two names do.
	alikeWord, alikeName = 0.9, 0.85
	// shortened is the similarity of a name and its abbreviation.
	shortened = 0.72
)

// alikeNames returns how alike two names are, from 0 to 1.
func alikeNames(a, b string) float64 {
	x, y := concepts(a), concepts(b)
	if len(x) == 0 || len(y) == 0 {
		return 0
	}
	whole, other := strings.Join(x, ""), strings.Join(y, "")
	if whole == other {
		return 1
	}
	common := (matched(x, y) + matched(y, x)) / 2
	if abbreviates(a, x, b, y) || abbreviates(b, y, a, x) {
		common = max(common, shortened)
	}
	if s := similarity.JaroWinkler(whole, other); s > alikeName {
		common = max(common, s*0.9)
	}
	return common
}

// abbreviates reports whether a name shortens another one: by the first letters of its
// words, or by leaving out letters that are not the first.
func abbreviates(short string, shortWords []string, long string, longWords []string) bool {
	s, l := strings.Join(plainWords(short), ""), strings.Join(plainWords(long), "")
	if len(s) < 2 || len(s) >= len(l) || len(shortWords) != 1 {
		return false
	}
	return s == similarity.Initials(strings.Join(longWords, " ")) ||
		s == similarity.Initials(strings.Join(plainWords(long), " ")) ||
		len(longWords) == 1 && len(s) >= 3 && s[0] == l[0] && subsequence(s, l)
}

// subsequence reports whether the letters of a text occur in another one in their order.
func subsequence(s, of string) bool {
	for i := range len(s) {
		at := strings.IndexByte(of, s[i])
		if at < 0 {
			return false
		}
		of = of[at+1:]
	}
	return true
}

// matched returns the share of the weight of words that have a like one among others. The
// last word of a name weighs more, because it says what the others qualify.
func matched(words, others []string) float64 {
	var sum, all float64
	for i, w := range words {
		weight := 1.0
		switch {
		case filler[w]:
			weight = 0.2
		case i == len(words)-1:
			weight = 1.2
		}
		all += weight
		best := 0.0
		for _, o := range others {
			best = max(best, alikeWords(w, o))
		}
		sum += weight * best
	}
	return sum / all
}

func alikeWords(w, o string) float64 {
	if w == o {
		return 1
	}
	if len(w) < 3 || len(o) < 3 {
		return 0
	}
	if s := similarity.JaroWinkler(w, o); s >= alikeWord {
		return s * 0.95
	}
	if strings.HasPrefix(o, w) || strings.HasPrefix(w, o) {
		return 0.75
	}
	return 0
}
