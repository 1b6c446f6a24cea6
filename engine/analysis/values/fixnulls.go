package values

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/lakewarden/lakewarden/engine/analysis"
)

// NullsResult is the result of [FixNulls].
type NullsResult struct {
	Columns []NullsColumn       `json:"columns" doc:"Columns with NULLs or placeholders"`
	Rows    []analysis.CitedRow `json:"rows" doc:"Examples of rows with placeholders"`
	// Placeholders counts those of all columns.
	Placeholders int `json:"placeholders" doc:"Number of placeholders found, including those left out"`
}

// NullsColumn describes the missing values of a column.
type NullsColumn struct {
	Column       string        `json:"column"`
	Rows         int64         `json:"rows" doc:"Number of rows"`
	Nulls        int64         `json:"nulls" doc:"Number of rows with NULL"`
	Placeholders []Placeholder `json:"placeholders" doc:"Values that stand for missing values"`
	Replacement  *Replacement  `json:"replacement" doc:"A column that determines missing values; null without one"`
}

// Placeholder is a value that stands for a missing value.
type Placeholder struct {
	Value      string  `json:"value" doc:"The value as text"`
	Rows       int64   `json:"rows" doc:"Number of rows with the value"`
	Reason     string  `json:"reason"`
	Confidence float64 `json:"confidence" doc:"Between 0 and 1"`
}

// Replacement is a way to fill NULLs.
type Replacement struct {
	DeterminedBy string  `json:"determinedBy" doc:"The column that determines the value"`
	Rows         int64   `json:"rows" doc:"Number of rows with NULL whose value is determined"`
	Consistency  float64 `json:"consistency" doc:"Share of the rows that agree with the dependency, among values that several rows have"`
}

// proposed is the confidence from which a finding becomes a proposal.
const proposed = 0.7

// maxInProposal bounds the placeholders that one proposal replaces.
const maxInProposal = 100

// FixNulls finds values that stand for missing values, and values for NULLs that another
// column determines.
func FixNulls(ctx context.Context, in analysis.Input) (analysis.Answer, error) {
	all, err := profiles(ctx, in, in.Columns)
	if err != nil {
		return analysis.Answer{}, err
	}
	w := nullsWork{in: in, cited: newCitations(in), result: NullsResult{Columns: []NullsColumn{}}, placeholders: map[string][]string{},
		profiles: map[string]profile{}}
	for i, p := range all {
		w.profiles[p.column.Name] = p
		in.Progress(i, 2*len(all))
		if err := w.column(ctx, p); err != nil {
			return analysis.Answer{}, err
		}
	}
	for i := range w.result.Columns {
		in.Progress(len(all)+i, 2*len(all))
		if err := w.replacement(ctx, &w.result.Columns[i]); err != nil {
			return analysis.Answer{}, err
		}
	}
	in.Progress(2*len(all), 2*len(all))
	w.result.Rows = w.cited.rows
	return w.answer(all), nil
}

// nullsWork is the state of one call of FixNulls.
type nullsWork struct {
	in     analysis.Input
	cited  *citations
	result NullsResult
	// placeholders are the texts of the placeholders by column.
	placeholders map[string][]string
	profiles     map[string]profile
	// candidates are the columns that may determine others; nil before they are known.
	candidates                 []profile
	tests, shown, proposedText int
	proposals                  []analysis.Proposal
	warnings                   []string
	texts                      []string
}

// column finds the placeholders of a column.
func (w *nullsWork) column(ctx context.Context, p profile) error {
	found, err := placeholdersOf(ctx, w.in, p)
	if err != nil {
		return fmt.Errorf("placeholders of column %s: %w", p.column.Name, err)
	}
	if len(found) == 0 && p.nulls() == 0 {
		return nil
	}
	out := NullsColumn{Column: p.column.Name, Rows: p.rows, Nulls: p.nulls(), Placeholders: []Placeholder{}}
	w.result.Placeholders += len(found)
	var sure []string
	confidence := 1.0
	for _, f := range found {
		if w.shown < w.in.Limit {
			w.shown++
			out.Placeholders = append(out.Placeholders, Placeholder{f.text, f.rows, f.reason, f.confidence})
		}
		if f.confidence >= proposed {
			w.placeholders[p.column.Name] = append(w.placeholders[p.column.Name], f.text)
			if len(sure) < maxInProposal {
				sure = append(sure, f.text)
				confidence = min(confidence, f.confidence)
			}
		}
	}
	w.result.Columns = append(w.result.Columns, out)
	if len(found) == 0 {
		return nil
	}
	tag, err := w.cited.add(ctx, p.column, among(p.column, []string{found[0].text}))
	if err != nil {
		return err
	}
	if tag != "" && len(w.texts) < 3 {
		w.texts = append(w.texts, fmt.Sprintf("In %s, %s stands for a missing value in %s %s.", analysis.InQuotes(p.column.Name),
			analysis.InQuotes(found[0].text), analysis.Plural(found[0].rows, "row", "rows"), tag))
	}
	return w.propose(ctx, p.column, sure, confidence)
}

// propose proposes to replace placeholders by NULL.
func (w *nullsWork) propose(ctx context.Context, c analysis.Column, texts []string, confidence float64) error {
	if len(texts) == 0 || c.Masked || c.Key || len(w.proposals) >= w.in.Limit {
		return nil
	}
	if !c.Nullable {
		w.warnings = append(w.warnings, "The column "+analysis.InQuotes(c.Name)+" has placeholders but does not allow NULL.")
		return nil
	}
	where := among(c, texts)
	rows, err := w.in.Rows(ctx, where, c)
	if err != nil {
		return err
	}
	title := fmt.Sprintf("Replace %s in %s by NULL in %s.", quotes(texts), analysis.InQuotes(c.Name), analysis.Plural(rows, "row", "rows"))
	w.proposals = append(w.proposals, analysis.Proposal{
		Title: title, Columns: []string{c.Name}, Confidence: confidence,
		Change: analysis.UpdateRows{Where: where, Set: map[string]string{c.Name: "NULL"}}, Effect: analysis.Effect{Rows: &rows},
	})
	return nil
}

// placeholdersOf returns the placeholders of a column, the most frequent first.
func placeholdersOf(ctx context.Context, in analysis.Input, p profile) ([]found, error) {
	c := p.column
	if p.values == 0 {
		return nil, nil
	}
	var out []found
	switch c.Kind() {
	case analysis.KindText:
		texts, t, err := textPlaceholders(ctx, in, c, p.nulls())
		if err != nil {
			return nil, err
		}
		out = texts
		numbers, dates := t.share(shapeNumber) >= regular, t.share(shapeDate) >= regular
		if t.distinct < 3 || !numbers && !dates {
			break
		}
		more, err := outsiders(ctx, in, c, dates)
		if err != nil {
			return nil, err
		}
		for _, f := range more {
			if !slices.ContainsFunc(out, func(other found) bool { return other.text == f.text }) {
				out = append(out, f)
			}
		}
	case analysis.KindInteger, analysis.KindDecimal, analysis.KindFloat, analysis.KindDate, analysis.KindTimestamp:
		if p.distinct >= 3 { // fewer do not tell what is ordinary
			more, err := outsiders(ctx, in, c, c.Temporal())
			if err != nil {
				return nil, err
			}
			out = more
		}
		if c.Kind() == analysis.KindFloat {
			n, err := in.Rows(ctx, "isnan("+c.Quoted()+")", c)
			if err != nil {
				return nil, err
			}
			if n > 0 {
				out = append(out, found{"nan", n, "not a number", 0.9})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b found) int {
		if a.rows != b.rows {
			return cmp.Compare(b.rows, a.rows)
		}
		return strings.Compare(a.text, b.text)
	})
	return out, nil
}

// outsiders returns the numbers or times of a column that stand for missing ones.
func outsiders(ctx context.Context, in analysis.Input, c analysis.Column, times bool) ([]found, error) {
	place, ok := placeOf(c, times)
	if !ok {
		return nil, nil
	}
	s, err := spreadOf(ctx, in, c, place)
	if err != nil {
		return nil, err
	}
	if times {
		return artificialTimes(s), nil
	}
	return sentinels(s), nil
}

// answer describes the findings.
func (w *nullsWork) answer(all []profile) analysis.Answer {
	slices.SortStableFunc(w.result.Columns, func(a, b NullsColumn) int {
		return cmp.Compare(len(b.Placeholders), len(a.Placeholders))
	})
	nulls, with := int64(0), 0
	for _, p := range all {
		if n := p.nulls(); n > 0 {
			nulls, with = nulls+n, with+1
		}
	}
	if most := 10 * w.in.Limit; len(w.result.Columns) > most {
		w.result.Columns = w.result.Columns[:most]
		w.warnings = append(w.warnings, "The result leaves out columns with NULLs but without placeholders.")
	}
	if w.result.Placeholders > w.shown {
		w.warnings = append(w.warnings, fmt.Sprintf("The result shows %d of %d placeholders.", w.shown, w.result.Placeholders))
	}
	sentences := []string{fmt.Sprintf("%s NULL, in %s. %s found.", analysis.Plural(nulls, "cell is", "cells are"),
		analysis.Plural(int64(with), "column", "columns"),
		analysis.Plural(int64(w.result.Placeholders), "placeholder for missing values was", "placeholders for missing values were"))}
	sentences = append(sentences, w.texts...)
	confidence, n := 0.0, 0
	for _, c := range w.result.Columns {
		for _, p := range c.Placeholders {
			confidence, n = confidence+p.Confidence, n+1
		}
		if c.Replacement != nil && len(sentences) < 6 {
			sentences = append(sentences, fmt.Sprintf("%s determines %s of %s.", analysis.InQuotes(c.Replacement.DeterminedBy),
				analysis.Plural(c.Replacement.Rows, "missing value", "missing values"), analysis.InQuotes(c.Column)))
		}
	}
	if n > 0 {
		confidence = analysis.RoundConfidence(confidence / float64(n))
	} else {
		confidence = 0.9
	}
	return analysis.Answer{Result: w.result, Text: strings.Join(sentences, " "), Confidence: confidence, Proposals: w.proposals,
		References: w.cited.references, Warnings: w.warnings}
}
