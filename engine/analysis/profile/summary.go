package profile

import (
	"context"
	"math"
	"slices"

	"github.com/lakewarden/lakewarden/engine/analysis"
)

// SummaryResult is the result of [Summary].
type SummaryResult struct {
	Rows    int64           `json:"rows"`
	Columns []ColumnSummary `json:"columns"`
	// DuplicateRows is nil if rows were not compared.
	DuplicateRows *int64     `json:"duplicateRows" doc:"Rows that repeat another row in all columns; null if rows were not compared"`
	DateRange     *DateRange `json:"dateRange" doc:"Range of the first complete date column; null without one"`
	Identifiers   []string   `json:"identifiers" doc:"Columns whose values all differ and are never NULL"`
	Complete      float64    `json:"complete" doc:"Share of all values that are not NULL"`
}

// ColumnSummary describes a column.
type ColumnSummary struct {
	Column        string   `json:"column"`
	Type          string   `json:"type"`
	Masked        bool     `json:"masked"`
	Nulls         int64    `json:"nulls"`
	NullRate      float64  `json:"nullRate"`
	Distinct      int64    `json:"distinct"`
	DistinctExact bool     `json:"distinctExact"`
	Min           *string  `json:"min"`
	Max           *string  `json:"max"`
	Mean          *float64 `json:"mean"`
	Deviation     *float64 `json:"deviation" doc:"Standard deviation"`
	Median        *string  `json:"median"`
	Shortest      *int64   `json:"shortest" doc:"Characters of the shortest text"`
	Longest       *int64   `json:"longest" doc:"Characters of the longest text"`
	TopValues     []Value  `json:"topValues"`
}

// DateRange is the range of a column of dates or timestamps.
type DateRange struct {
	Column string `json:"column"`
	From   string `json:"from"`
	To     string `json:"to"`
}

// maxCompared is the number of columns up to which whole rows are compared.
const maxCompared = 100

// Summary describes the columns of a request and tells what the table is about.
func Summary(ctx context.Context, in analysis.Input) (analysis.Answer, error) {
	profiles, err := Columns(ctx, in, in.Columns)
	if err != nil {
		return analysis.Answer{}, err
	}
	out := SummaryResult{Columns: []ColumnSummary{}, Identifiers: []string{}}
	warnings := []string{}
	if out.Rows, err = in.Rows(ctx, "TRUE"); err != nil {
		return analysis.Answer{}, err
	}
	nulls := int64(0)
	for _, p := range profiles {
		nulls += p.Nulls
		out.Columns = append(out.Columns, summarize(p, len(profiles)))
		kind := p.Column.Kind()
		named := kind == analysis.KindText || kind == analysis.KindInteger
		if named && p.Exact && p.Nulls == 0 && p.Distinct == p.Rows && p.Rows > 1 && p.Long == 0 {
			out.Identifiers = append(out.Identifiers, p.Column.Name)
		}
		if out.DateRange == nil && p.Column.Temporal() && p.Nulls*10 <= p.Rows && p.Min != "" {
			out.DateRange = &DateRange{Column: p.Column.Name, From: p.Min, To: p.Max}
		}
	}
	out.Complete = 1
	if cells := out.Rows * int64(len(profiles)); cells > 0 {
		out.Complete = rounded(1-float64(nulls)/float64(cells), 6)
	}
	if out.DuplicateRows, err = duplicates(ctx, in, profiles, len(out.Identifiers) > 0); err != nil {
		return analysis.Answer{}, err
	}
	if out.DuplicateRows == nil {
		warnings = append(warnings, "Rows were not compared with each other: the table has too many columns or long texts.")
	}
	if slices.ContainsFunc(profiles, func(p Profile) bool { return !p.Exact }) {
		warnings = append(warnings, "Numbers of distinct values beyond "+analysis.Thousands(maxDistinct)+" are estimates.")
	}
	return analysis.Answer{Result: out, Text: summaryText(in.Table, out, profiles), Confidence: 1,
		References: []analysis.Reference{}, Warnings: warnings}, nil
}

func summarize(p Profile, columns int) ColumnSummary {
	s := ColumnSummary{Column: p.Column.Name, Type: p.Column.Type.String(), Masked: p.Column.Masked, Nulls: p.Nulls,
		Distinct: p.Distinct, DistinctExact: p.Exact, TopValues: []Value{}}
	if p.Rows > 0 {
		s.NullRate = rounded(float64(p.Nulls)/float64(p.Rows), 6)
	}
	length, top := analysis.MaxText, 10
	if columns > 40 {
		length, top = 40, 3
	}
	if len(s.Type) > analysis.MaxText {
		s.Type = analysis.Cut(s.Type, analysis.MaxText)
	}
	if p.Present() > 0 && p.Column.Kind() != analysis.KindOther {
		low, high := analysis.Cut(p.Min, length), analysis.Cut(p.Max, length)
		s.Min, s.Max = &low, &high
	}
	s.Mean, s.Deviation = finite(p.Mean), finite(p.Deviation)
	if m, ok := p.Quantiles[0.5]; ok {
		s.Median = &m
	}
	if p.Column.Kind() == analysis.KindText && p.Present() > 0 {
		s.Shortest, s.Longest = &p.Shortest, &p.Longest
	}
	for _, v := range p.Top[:min(len(p.Top), top)] {
		s.TopValues = append(s.TopValues, Value{Value: analysis.Cut(v.Value, length), Rows: v.Rows})
	}
	return s
}

func finite(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// duplicates counts the rows that repeat another row, or returns nil if that is too much to
// compare.
func duplicates(ctx context.Context, in analysis.Input, profiles []Profile, identified bool) (*int64, error) {
	long := slices.ContainsFunc(profiles, func(p Profile) bool { return p.Long > 0 || p.Column.Kind() == analysis.KindOther })
	if identified || len(profiles) == 0 {
		return analysis.Number(0), nil
	}
	if len(profiles) > maxCompared || long {
		return nil, nil
	}
	from := in.Table.From(in.Columns...)
	n, err := in.Count(ctx, "SELECT CAST(coalesce(sum(n - 1), 0) AS BIGINT) FROM (SELECT count(*) AS n FROM "+from+" GROUP BY "+
		analysis.Names(in.Columns)+" HAVING count(*) > 1)")
	return &n, err
}
