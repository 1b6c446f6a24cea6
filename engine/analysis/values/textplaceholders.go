package values

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/lakewarden/lakewarden/engine/analysis"
)

// found is a value that stands for missing values.
type found struct {
	text       string
	rows       int64
	reason     string
	confidence float64
}

const (
	// maxCandidates bounds the values of a column that may be placeholders.
	maxCandidates = 200
	// maxPeers bounds the values of a category that are compared with its placeholders.
	maxPeers = 50
	// leastConfidence is the least confidence of a reported finding.
	leastConfidence = 0.5
	// regular is the part of rows from which a column has a shape.
	regular = 0.85
)

// dummyText are texts that people type to fill a field: one sign repeated, or a digit repeated
// at least five times among punctuation.
const dummyText = `^(x{3,}|z{3,}|y{3,}|q{3,}|[^0-9a-z]*((0[^0-9a-z]*){5,}|(1[^0-9a-z]*){5,}|(2[^0-9a-z]*){5,}|(3[^0-9a-z]*){5,}|` +
	`(4[^0-9a-z]*){5,}|(5[^0-9a-z]*){5,}|(6[^0-9a-z]*){5,}|(7[^0-9a-z]*){5,}|(8[^0-9a-z]*){5,}|(9[^0-9a-z]*){5,}))$`

// dummyMail are addresses that people type to fill a field.
const dummyMail = `^(none?|no-?e?-?mail|n/?a|n\.a\.?|unknown|null|nil|nobody|noone|test|dummy|x+|a+|asdf)@`

var (
	dummyTexts = regexp.MustCompile(dummyText)
	dummyMails = regexp.MustCompile(dummyMail)
)

// textPlaceholders returns the placeholders of a text column, the most frequent first.
func textPlaceholders(ctx context.Context, in analysis.Input, c analysis.Column, nulls int64) ([]found, textContext, error) {
	t, err := contextOf(ctx, in, c)
	if err != nil || t.values+t.marks == 0 && nulls == 0 {
		return nil, t, err
	}
	condition := "candidate"
	odd, kind := oddOnes(t)
	switch {
	case odd != "":
		condition += " OR " + odd
	case t.candidates == 0:
		return nil, t, nil
	}
	candidates, err := mostFrequent(ctx, in, flagged(in, c), condition, maxCandidates)
	if err != nil {
		return nil, t, err
	}
	j := placeholderJudge{context: t, nulls: nulls, odd: kind, candidates: candidates}
	j.survey()
	if t.category() && slices.ContainsFunc(candidates, func(v counted) bool { return meaningOf(v.text) == usually }) {
		peers, err := mostFrequent(ctx, in, flagged(in, c), "NOT word", maxPeers)
		if err != nil {
			return nil, t, err
		}
		j.peers(peers)
	}
	var out []found
	for _, v := range candidates {
		if confidence, reason := j.judge(v); confidence >= leastConfidence {
			out = append(out, found{v.text, v.rows, reason, confidence})
		}
	}
	return out, t, nil
}

// oddOnes returns the condition of values that do not have the shape of most values, and a
// noun for the values that have it.
func oddOnes(t textContext) (condition, kind string) {
	switch {
	case t.values < 20:
		return "", ""
	case t.share(shapeNumber) >= regular:
		return "NOT regexp_matches(v, '[0-9]')", "numbers"
	case t.share(shapeDate) >= regular:
		return "NOT regexp_matches(v, '[0-9]')", "dates"
	case t.share(shapeMail) >= regular:
		return "NOT contains(v, '@')", "e-mail addresses"
	case t.share(shapeDigit) >= 0.95:
		return "NOT regexp_matches(v, '[0-9]')", "codes with digits"
	}
	return "", ""
}

// placeholderJudge decides whether values of one column stand for missing values.
type placeholderJudge struct {
	context    textContext
	nulls      int64
	odd        string
	candidates []counted
	// surely reports that some value is always a placeholder; oddForms counts the values
	// that do not fit the others.
	surely   bool
	oddForms int
	// scale and states report that other values have words of scales or of states.
	scale, states bool
}

// survey notes whether some candidate is surely a placeholder, and how many do not fit.
func (j *placeholderJudge) survey() {
	for _, v := range j.candidates {
		if meaningOf(v.text) == always || blank(v.text) {
			j.surely = true
		}
		if j.odd != "" && meaningOf(v.text) == 0 && hasLetters(v.text, 1) {
			j.oddForms++
		}
	}
}

// peers notes whether the other values of a category have words of scales or of states.
func (j *placeholderJudge) peers(values []counted) {
	for _, v := range values {
		for word := range strings.FieldsSeq(bareWord(v.text)) {
			j.scale = j.scale || scales[word]
			j.states = j.states || states[word]
		}
	}
}

// judge returns how surely a value stands for a missing value, and why.
func (j *placeholderJudge) judge(v counted) (float64, string) {
	t := j.context
	word := bareWord(v.text)
	switch {
	case v.text == "":
		return 0.95, "an empty text"
	case blank(v.text):
		return 0.95, "only white space"
	case j.isCode(v.text):
		return 0, ""
	}
	switch meaningOf(v.text) {
	case always:
		if word == "null" && v.rows == 1 && capitalised(v.text) && t.share(shapeCapital) >= regular {
			return 0, "" // a name
		}
		return 0.95, "a common word for a missing value"
	case usually:
		return j.usual(v, word)
	}
	lower := strings.ToLower(v.text)
	switch {
	case onlyMarks(v.text):
		return j.marks(v)
	case dummyTexts.MatchString(lower):
		if hasDigit(v.text) && (v.rows < 3 || v.rows < 5*j.context.second(v)) {
			return 0, ""
		}
		return 0.85, "one character, repeated"
	case dummyMails.MatchString(lower) && t.share(shapeMail) >= 0.5:
		if v.rows < 2 {
			return 0.6, "an address that belongs to nobody"
		}
		return 0.85, "an address that belongs to nobody"
	}
	if j.odd != "" && v.rows >= 2 && j.oddForms <= 3 && hasLetters(v.text, 3) && utf8.RuneCountInString(v.text) <= 40 {
		return 0.8, "a word among " + j.odd
	}
	return 0, ""
}

// second returns the number of rows of the most frequent other value.
func (t textContext) second(v counted) int64 {
	if t.most == v.rows {
		return max(1, t.values/max(1, t.distinct))
	}
	return t.most
}

// isCode reports whether a text of letters is a code like most values of the column.
func (j *placeholderJudge) isCode(text string) bool {
	t := j.context
	shape := -1
	switch {
	case !onlyASCIILetters(text):
	case len(text) == 2 && strings.ToUpper(text) == text:
		shape = shapeUpper2
	case len(text) == 3 && strings.ToUpper(text) == text:
		shape = shapeUpper3
	case len(text) == 2 && strings.ToLower(text) == text:
		shape = shapeLower2
	case len(text) == 3 && strings.ToLower(text) == text:
		shape = shapeLower3
	}
	return shape >= 0 && t.distinct >= 3 && t.share(shape) >= 0.8
}

// usual judges a word that can be a name, a code or a category.
func (j *placeholderJudge) usual(v counted, word string) (float64, string) {
	t := j.context
	const reason = "a word that usually stands for a missing value"
	share := ratio(v.rows, t.values+v.rows)
	if t.share(shapeNumber) >= regular || t.share(shapeDate) >= regular || t.share(shapeMail) >= regular || t.share(shapeDigit) >= 0.9 {
		return 0.95, reason
	}
	if !t.category() {
		// A single capitalised word among names can be a name.
		if (word == "nan" || word == "nil" || word == "na") && v.rows == 1 && capitalised(v.text) && t.share(shapeCapital) >= regular {
			return 0, ""
		}
		if t.distinct < 3 && !j.surely {
			return 0.5, reason
		}
		return 0.85, reason
	}
	if word == "none" && j.scale || word == "missing" && (j.states || share >= 0.02) && j.fits(v.text) {
		return 0, ""
	}
	if !j.fits(v.text) {
		return 0.85, reason
	}
	if share >= 0.05 {
		if j.nulls > 0 || j.surely {
			return 0.6, reason
		}
		return 0, "" // a category of its own
	}
	return 0.75, reason
}

// fits reports whether a word is written like most values: in upper case, in lower case or
// with a capital.
func (j *placeholderJudge) fits(text string) bool {
	t := j.context
	switch {
	case strings.ToUpper(text) == text:
		return t.share(shapeUpper) >= 0.6
	case strings.ToLower(text) == text:
		return t.share(shapeLower) >= 0.6
	}
	return t.share(shapeCapital) >= 0.6
}

// marks judges a text of punctuation only.
func (j *placeholderJudge) marks(v counted) (float64, string) {
	t := j.context
	share := ratio(t.marks, t.marks+t.values)
	for _, other := range j.candidates {
		if strings.ContainsAny(other.text, "+=<>*/%$€£") && onlyMarks(other.text) && meaningOf(other.text) == 0 {
			return 0, "" // signs with a meaning
		}
	}
	if share > 0.5 || t.markForms > 6 && share > 0.1 {
		return 0, ""
	}
	if strings.Trim(v.text, "-–—?.*_/ \t") != "" {
		return 0.6, "punctuation only"
	}
	return 0.92, "punctuation only"
}

func blank(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return !unicode.IsSpace(r) && !unicode.Is(unicode.Cf, r) }) < 0
}

func onlyMarks(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) < 0
}

func hasDigit(text string) bool { return strings.ContainsAny(text, "0123456789") }

// hasLetters reports whether a text has at least so many letters.
func hasLetters(text string, least int) bool {
	for _, r := range text {
		if unicode.IsLetter(r) {
			least--
		}
	}
	return least <= 0
}

func onlyASCIILetters(text string) bool {
	return text != "" && strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

func capitalised(text string) bool {
	first, size := utf8.DecodeRuneInString(text)
	rest := text[size:]
	return unicode.IsUpper(first) && rest != "" && strings.ToLower(rest) == rest
}

// sortedKeys returns the keys of a map in order.
func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
