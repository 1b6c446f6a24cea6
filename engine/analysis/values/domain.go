package values

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/lakewarden/lakewarden/engine/analysis"
	"github.com/lakewarden/lakewarden/engine/analysis/cluster"
)

// DomainResult is the result of [SuggestDomain].
type DomainResult struct {
	Columns []DomainColumn      `json:"columns" doc:"Columns with a suggestion"`
	Rows    []analysis.CitedRow `json:"rows" doc:"Examples of rows that violate a suggestion"`
	// Suggestions counts those of all columns.
	Suggestions int `json:"suggestions" doc:"Number of suggestions, including those left out"`
}

// DomainColumn is a rule that nearly all values of a column satisfy.
type DomainColumn struct {
	Column         string   `json:"column"`
	Kind           string   `json:"kind" doc:"values, pattern or range"`
	DistinctValues int64    `json:"distinctValues" doc:"Number of distinct values; an estimate for patterns and ranges"`
	Coverage       float64  `json:"coverage" doc:"Share of the rows with a value that satisfy the rule"`
	Values         []string `json:"values" doc:"The allowed values, as text; empty for other kinds"`
	Pattern        string   `json:"pattern" doc:"Regular expression that a whole text matches; empty for other kinds"`
	Min            *string  `json:"min" doc:"Least value; null without one"`
	Max            *string  `json:"max" doc:"Greatest value; null without one"`
	Violations     int64    `json:"violations" doc:"Number of rows that violate the rule"`
	Confidence     float64  `json:"confidence" doc:"Between 0 and 1"`
	Reason         string   `json:"reason"`
}

// suggestion is a rule for one column.
type suggestion struct {
	out    DomainColumn
	column analysis.Column
	// violated is the condition of rows that violate the rule.
	violated string
	change   analysis.Change
	title    string
}

// SuggestDomain finds sets of values, patterns and ranges for columns without a domain.
func SuggestDomain(ctx context.Context, in analysis.Input) (analysis.Answer, error) {
	var columns []analysis.Column
	for _, c := range in.Columns {
		if c.Domain == "" && !c.Masked && c.Kind() != analysis.KindOther && c.Kind() != analysis.KindBoolean {
			columns = append(columns, c)
		}
	}
	all, err := profiles(ctx, in, columns)
	if err != nil {
		return analysis.Answer{}, err
	}
	w := domainWork{in: in, result: DomainResult{Columns: []DomainColumn{}}, cited: newCitations(in)}
	for i, p := range all {
		in.Progress(i, len(all)+1)
		if p.values < leastRows || p.distinct < 2 {
			continue
		}
		s, ok, err := w.suggest(ctx, p)
		if err == nil && ok {
			err = w.add(ctx, s)
		}
		if err != nil {
			return analysis.Answer{}, fmt.Errorf("domain of column %s: %w", p.column.Name, err)
		}
	}
	in.Progress(len(all)+1, len(all)+1)
	return w.answer(), nil
}

// leastRows is the number of values that a suggestion needs.
const leastRows = 30

// domainWork is the state of one call of SuggestDomain.
type domainWork struct {
	in        analysis.Input
	result    DomainResult
	cited     *citations
	proposals []analysis.Proposal
	sentences []string
}

// suggest returns the rule that suits a column best.
func (w *domainWork) suggest(ctx context.Context, p profile) (suggestion, bool, error) {
	switch p.column.Kind() {
	case analysis.KindText:
		if s, ok, err := closedSet(ctx, w.in, p); ok || err != nil {
			return s, ok, err
		}
		return w.pattern(ctx, p)
	case analysis.KindInteger:
		if s, ok, err := w.rangeOf(ctx, p); ok || err != nil {
			return s, ok, err
		}
		return closedSet(ctx, w.in, p)
	}
	return w.rangeOf(ctx, p)
}

// add counts the violations of a suggestion, and reports and proposes it.
func (w *domainWork) add(ctx context.Context, s suggestion) error {
	violations, err := w.in.Rows(ctx, s.violated, s.column)
	if err != nil {
		return err
	}
	values, err := w.in.Rows(ctx, s.column.Quoted()+" IS NOT NULL", s.column)
	if err != nil {
		return err
	}
	s.out.Column, s.out.Violations = s.column.Name, violations
	s.out.Coverage = math.Floor(1e4*(1-ratio(violations, values))) / 1e4
	if s.out.Values == nil {
		s.out.Values = []string{}
	}
	if s.out.Coverage < consistent {
		return nil
	}
	w.result.Suggestions++
	if len(w.result.Columns) >= w.in.Limit {
		return nil
	}
	w.result.Columns = append(w.result.Columns, s.out)
	sentence := s.title
	if violations > 0 {
		tag, err := w.cited.add(ctx, s.column, s.violated)
		if err != nil {
			return err
		}
		sentence = strings.TrimSuffix(sentence, ".") + ", which " + analysis.Plural(violations, "row violates", "rows violate")
		if tag != "" {
			sentence += " " + tag
		}
		sentence += "."
	}
	if len(w.sentences) < 5 {
		w.sentences = append(w.sentences, sentence)
	}
	if s.out.Confidence < proposed {
		return nil
	}
	title := s.title
	if violations > 0 {
		title = strings.TrimSuffix(title, ".") + ", which " + analysis.Plural(violations, "row violates", "rows violate") + "."
	}
	w.proposals = append(w.proposals, analysis.Proposal{Title: title, Columns: []string{s.column.Name}, Confidence: s.out.Confidence,
		Change: s.change, Effect: analysis.Effect{Violations: &violations}})
	return nil
}

func (w *domainWork) answer() analysis.Answer {
	a := analysis.Answer{Proposals: w.proposals, References: w.cited.references, Confidence: 0.9}
	w.result.Rows = w.cited.rows
	sum := 0.0
	for _, c := range w.result.Columns {
		sum += c.Confidence
	}
	if n := len(w.result.Columns); n > 0 {
		a.Confidence = analysis.RoundConfidence(sum / float64(n))
	}
	if w.result.Suggestions > len(w.result.Columns) {
		a.Warnings = append(a.Warnings, fmt.Sprintf("The result shows %d of %d suggestions.", len(w.result.Columns), w.result.Suggestions))
	}
	first := analysis.Plural(int64(w.result.Suggestions), "column has", "columns have") +
		" values that form a set, match a pattern or lie in a range."
	a.Text = strings.Join(append([]string{first}, w.sentences...), " ")
	a.Result = w.result
	return a
}

const (
	// maxListed bounds the values of a suggested set.
	maxListed = 50
	// maxCodes bounds the integers of a suggested set.
	maxCodes = 20
)

// closedSet suggests the values of a column that has few, each of them many times, and in
// which hardly any value occurs once.
func closedSet(ctx context.Context, in analysis.Input, p profile) (suggestion, bool, error) {
	c := p.column
	// The estimate may be a tenth wrong, and rare values outside the set are violations.
	if p.distinct > 2*maxListed || p.short < p.values {
		return suggestion{}, false, nil
	}
	shown := "SELECT CAST(" + cell(c) + " AS VARCHAR), count(*) FROM " + in.Table.From(c) + " WHERE " + cell(c) + " IS NOT NULL GROUP BY " +
		cell(c) + " ORDER BY count(*) DESC, " + cell(c) + fmt.Sprintf(" LIMIT %d", 4*maxListed)
	all, err := counts(ctx, in, shown)
	if err != nil || len(all) < 2 || len(all) == 4*maxListed {
		return suggestion{}, false, err
	}
	set, rows := frequent(all)
	once := 0
	for _, v := range set {
		if v.rows == 1 {
			once++
		}
	}
	most, perValue := maxListed, int64(15)
	if c.Kind() == analysis.KindInteger {
		most, perValue = maxCodes, 50
	}
	n := int64(len(set))
	switch {
	case len(set) < 2, len(set) > most, p.values < perValue*n, once > 0 && p.values < 10*perValue*n, 5*once > len(set):
		return suggestion{}, false, nil
	case ratio(rows, p.values) < consistent, len(all)-len(set) > len(set)/2+2:
		return suggestion{}, false, nil
	case c.Kind() == analysis.KindInteger && (!codes(set) || p.column.Key || p.column.Unique):
		return suggestion{}, false, nil
	case c.Kind() == analysis.KindText && (c.Unique || prose(set)):
		return suggestion{}, false, nil
	}
	texts := make([]string, len(set))
	for i, v := range set {
		texts[i] = v.text
	}
	slices.Sort(texts)
	confidence := 0.95
	if n > 20 || p.values < 30*n || len(all) > len(set) {
		confidence = 0.85
	}
	if c.Kind() == analysis.KindInteger {
		confidence -= 0.1
	}
	s := suggestion{column: c, violated: c.Quoted() + " IS NOT NULL AND NOT " + among(c, texts),
		change: analysis.ListDomain{Column: c.Name, Values: texts},
		title:  fmt.Sprintf("Restrict %s to %s: %s.", analysis.InQuotes(c.Name), analysis.Plural(n, "value", "values"), quotes(texts))}
	s.out = DomainColumn{Kind: "values", DistinctValues: int64(len(all)), Values: texts, Confidence: analysis.RoundConfidence(confidence),
		Reason: fmt.Sprintf("a few values, each in %d rows on average", rows/n)}
	return s, true, nil
}

// frequent returns the values that make up a suggested set, and the number of their rows. It
// leaves out variants of other values, words for missing values, and a value that occurs once
// if all more frequent ones occur often.
func frequent(all []counted) (set []counted, rows int64) {
	const often = 20
	variants := map[string]bool{}
	forms := make([]cluster.Form, len(all))
	for i, v := range all {
		forms[i] = cluster.Form{Text: v.text, Rows: v.rows}
	}
	clusters, _ := cluster.Of(forms)
	for _, c := range clusters {
		for _, v := range c.Forms[1:] {
			variants[v.Text] = true
		}
	}
	least := all[0].rows
	for _, v := range all {
		if variants[v.text] || meaningOf(v.text) == always || blank(v.text) || v.rows == 1 && least >= often {
			continue
		}
		least = v.rows
		set, rows = append(set, v), rows+v.rows
	}
	return set, rows
}

// codes reports whether integers look like codes rather than amounts: they are 0 and 1, or at
// least three numbers of which fewer than half of their range occur. Negative numbers and
// years are not codes.
func codes(set []counted) bool {
	numbers := make([]int, 0, len(set))
	for _, v := range set {
		var n int
		if _, err := fmt.Sscan(v.text, &n); err != nil || n < 0 || n > 99_999 {
			return false
		}
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	first, last := numbers[0], numbers[len(numbers)-1]
	if first >= 1900 && last <= 2100 {
		return false // years
	}
	return first == 0 && last == 1 && len(numbers) == 2 || len(numbers) >= 3 && last-first+1 > 2*len(numbers)
}

// prose reports whether texts are sentences.
func prose(set []counted) bool {
	words := 0
	for _, v := range set {
		words += len(strings.Fields(v.text))
	}
	return words > 6*len(set)
}
