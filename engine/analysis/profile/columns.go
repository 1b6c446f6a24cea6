package profile

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/engine/analysis"
)

const (
	// maxDistinct is the number of distinct values up to which they are counted exactly.
	maxDistinct = 500_000
	// maxValues bounds the values of which one statement computes quantiles.
	maxValues = 10_000_000
	perChunk  = 8
	// MaxTop is the number of most frequent values of a profile.
	MaxTop = 20
	topPer = 12
)

// levels are the levels of the quantiles of a profile.
var levels = []float64{0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999}

// Value is a value with its number of rows.
type Value struct {
	Value string `json:"value" doc:"The value as text; long texts are cut"`
	Rows  int64  `json:"rows"`
}

// Profile describes a column.
type Profile struct {
	Column analysis.Column
	// Rows is the number of rows of the table, Nulls the number of those without a value.
	Rows, Nulls int64
	// Distinct is the number of distinct values; Exact reports that it is exact. Texts
	// longer than [analysis.MaxText] count by their beginning.
	Distinct int64
	Exact    bool
	// Min and Max are the least and greatest value as text; "" without one. They are not
	// computed for nested types.
	Min, Max string
	// Mean and Deviation are those of numbers, rounded; they are NaN otherwise.
	Mean, Deviation float64
	// Shortest and Longest are lengths of texts in characters. Long is the number of texts
	// longer than [analysis.MaxText].
	Shortest, Longest, Long int64
	// Quantiles holds values by level, as text, for numbers, dates and timestamps.
	Quantiles map[float64]string
	// Top holds the most frequent values, those that occur at least twice; it is empty if
	// nearly all values differ.
	Top []Value
}

// Present returns the number of rows with a value.
func (p Profile) Present() int64 { return p.Rows - p.Nulls }

// Quantile returns a quantile of numbers, or NaN.
func (p Profile) Quantile(level float64) float64 { return Number(p.Quantiles[level]) }

// Number returns the number that a text of DuckDB stands for, or NaN.
func Number(text string) float64 {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return math.NaN()
	}
	return v
}

// Columns describes columns of a table. The profiles are in the order of the columns.
func Columns(ctx context.Context, in analysis.Input, columns []analysis.Column) ([]Profile, error) {
	total, err := in.Rows(ctx, "TRUE")
	if err != nil {
		return nil, err
	}
	out := make([]Profile, 0, len(columns))
	size := perChunk
	if total > 0 {
		size = int(min(perChunk, max(1, maxValues/total)))
	}
	done := 0
	for _, chunk := range analysis.Chunks(columns, size) {
		profiles, err := describe(ctx, in, chunk, total)
		if err != nil {
			return nil, err
		}
		out = append(out, profiles...)
		done += len(chunk)
		in.Progress(done, 2*len(columns))
	}
	if err := addTop(ctx, in, out); err != nil {
		return nil, err
	}
	in.Progress(2*len(columns), 2*len(columns))
	return out, nil
}

const perColumn = 9

// describe runs one statement over a few columns.
func describe(ctx context.Context, in analysis.Input, columns []analysis.Column, total int64) ([]Profile, error) {
	items := make([]string, 0, perColumn*len(columns))
	for _, c := range columns {
		q, k := c.Quoted(), c.Kind()
		item := map[int]string{0: "count(" + q + ")", 1: "approx_count_distinct(" + analysis.Shortened(c) + ")"}
		if k != analysis.KindOther {
			item[2], item[3] = "min("+analysis.Shortened(c)+")", "max("+analysis.Shortened(c)+")"
		}
		if c.Numeric() {
			finite := q
			if k == analysis.KindFloat {
				finite = "CASE WHEN isfinite(" + q + ") THEN " + q + " END"
			}
			item[4] = "avg(" + finite + ")"
			item[5] = "CASE WHEN count(" + finite + ") > 1 AND max(abs(CAST(" + finite + " AS DOUBLE))) < 1e150 THEN stddev_samp(CAST(" +
				finite + " AS DOUBLE)) END"
		}
		if k == analysis.KindText {
			item[6], item[7] = "min(length("+q+"))", "max(length("+q+"))"
			item[8] = fmt.Sprintf("count(*) FILTER (WHERE length(%s) > %d)", q, analysis.MaxText)
		}
		if c.Measurable() {
			item[8] = "quantile_disc(" + q + ", " + levelList() + ")"
		}
		for i := range perColumn {
			if item[i] == "" {
				item[i] = "NULL"
			}
			items = append(items, "CAST("+item[i]+" AS VARCHAR)")
		}
	}
	rows, err := in.Texts(ctx, "SELECT "+strings.Join(items, ", ")+" FROM "+in.Table.From(columns...))
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	out := make([]Profile, len(columns))
	for i, c := range columns {
		row := rows[0][i*perColumn:]
		p := Profile{Column: c, Rows: total, Nulls: total - integer(row[0]), Distinct: integer(row[1]), Mean: math.NaN(), Deviation: math.NaN()}
		p.Min, p.Max = text(row[2]), text(row[3])
		if c.Numeric() {
			p.Mean, p.Deviation = rounded(Number(text(row[4])), 9), rounded(Number(text(row[5])), 6)
		}
		if c.Kind() == analysis.KindText {
			p.Shortest, p.Longest, p.Long = integer(row[6]), integer(row[7]), integer(row[8])
		} else if list := text(row[8]); len(list) > 2 {
			p.Quantiles = map[float64]string{}
			for at, value := range strings.Split(list[1:len(list)-1], ", ") {
				p.Quantiles[levels[at]] = strings.Trim(value, "'")
			}
		}
		out[i] = p
	}
	return out, exact(ctx, in, out)
}

// exact replaces estimated numbers of distinct values by exact ones up to the bound.
func exact(ctx context.Context, in analysis.Input, profiles []Profile) error {
	var columns []analysis.Column
	var items []string
	for i, p := range profiles {
		if p.Distinct > maxDistinct {
			profiles[i].Distinct = min(p.Distinct, p.Present())
			continue
		}
		profiles[i].Exact = true
		columns = append(columns, p.Column)
		items = append(items, "CAST(count(DISTINCT "+analysis.Shortened(p.Column)+") AS VARCHAR)")
	}
	if len(items) == 0 {
		return nil
	}
	rows, err := in.Texts(ctx, "SELECT "+strings.Join(items, ", ")+" FROM "+in.Table.From(columns...))
	if err != nil || len(rows) == 0 {
		return err
	}
	at := 0
	for i := range profiles {
		if profiles[i].Exact {
			profiles[i].Distinct = integer(rows[0][at])
			at++
		}
	}
	return nil
}

// addTop adds the most frequent values, with one statement for several columns.
func addTop(ctx context.Context, in analysis.Input, profiles []Profile) error {
	var wanted []int
	for i, p := range profiles {
		if p.Distinct > 0 && p.Column.Kind() != analysis.KindOther && (p.Distinct*10 < p.Present()*9 || p.Distinct <= MaxTop) {
			wanted = append(wanted, i)
		}
	}
	for len(wanted) > 0 {
		group := wanted[:min(topPer, len(wanted))]
		wanted = wanted[len(group):]
		parts := make([]string, len(group))
		for at, i := range group {
			c := profiles[i].Column
			parts[at] = fmt.Sprintf("(SELECT %d AS place, %s AS value, count(*) AS n FROM %s WHERE %s IS NOT NULL "+
				"GROUP BY 2 ORDER BY 3 DESC, 2 LIMIT %d)", i, analysis.Shown(c), in.Table.From(c), c.Quoted(), MaxTop)
		}
		rows, err := in.Texts(ctx, "SELECT CAST(place AS VARCHAR), value, CAST(n AS VARCHAR) FROM ("+
			strings.Join(parts, " UNION ALL ")+") ORDER BY place, n DESC, value")
		if err != nil {
			return err
		}
		for _, row := range rows {
			p := &profiles[integer(row[0])]
			if n := integer(row[2]); n > 1 || p.Distinct <= MaxTop {
				p.Top = append(p.Top, Value{Value: text(row[1]), Rows: n})
			}
		}
	}
	return nil
}

func levelList() string {
	parts := make([]string, len(levels))
	for i, l := range levels {
		parts[i] = strconv.FormatFloat(l, 'f', -1, 64)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func integer(s *string) int64 {
	n, err := strconv.ParseInt(text(s), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// rounded returns v with the given number of significant digits, so that the order in which
// an engine adds numbers does not show.
func rounded(v float64, digits int) float64 {
	return Number(strconv.FormatFloat(v, 'g', digits, 64))
}
