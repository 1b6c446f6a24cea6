package values

import (
	"context"
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/analysis"
)

// profileChunk is the number of columns that one statement describes.
const profileChunk = 20

// profile describes a column in numbers.
type profile struct {
	column analysis.Column
	// rows counts all rows, values those with a value, short those with a value that is no
	// longer than analysis.MaxText.
	rows, values, short int64
	// distinct estimates the number of distinct short values. The estimate depends on the
	// set of values only.
	distinct int64
	// length is the average length of the short texts.
	length float64
}

func (p profile) nulls() int64 { return p.rows - p.values }

// profiles describes columns, in their order.
func profiles(ctx context.Context, in analysis.Input, columns []analysis.Column) ([]profile, error) {
	var out []profile
	for _, chunk := range analysis.Chunks(columns, profileChunk) {
		items := []string{"count(*)"}
		for _, c := range chunk {
			items = append(items, describing(c)...)
		}
		err := in.Each(ctx, "SELECT "+strings.Join(items, ", ")+" FROM "+in.Table.From(chunk...), func(r engine.Row) error {
			for i, c := range chunk {
				at := 1 + 4*i
				out = append(out, profile{column: c, rows: r.Int64(0), values: r.Int64(at), short: r.Int64(at + 1),
					distinct: r.Int64(at + 2), length: r.Float64(at + 3)})
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// describing returns the aggregates of a column for a profile.
func describing(c analysis.Column) []string {
	q := cell(c)
	switch c.Kind() {
	case analysis.KindOther:
		return []string{"count(" + q + ")", "CAST(0 AS BIGINT)", "CAST(0 AS BIGINT)", "CAST(0 AS DOUBLE)"}
	case analysis.KindText:
		filter := ") FILTER (WHERE " + isShort(c) + ")"
		return []string{"count(" + q + ")", "count(*" + filter, "approx_count_distinct(" + q + filter,
			"CAST(coalesce(sum(length(" + q + ")" + filter + " / nullif(count(*" + filter + ", 0), 0) AS DOUBLE)"}
	}
	return []string{"count(" + q + ")", "count(" + q + ")", "approx_count_distinct(" + q + ")", "CAST(0 AS DOUBLE)"}
}

// cell returns the SQL of a column where aliases could hide its name.
func cell(c analysis.Column) string { return "input." + c.Quoted() }

// isShort returns the condition of rows whose text may be compared.
func isShort(c analysis.Column) string {
	return "length(" + cell(c) + ") <= " + strconv.Itoa(analysis.MaxText)
}

// grouped returns the FROM item g of the distinct short texts v of a column with their
// number of rows n.
func grouped(in analysis.Input, c analysis.Column) string {
	return "(SELECT " + cell(c) + " AS v, count(*) AS n FROM " + in.Table.From(c) + " WHERE " + isShort(c) +
		" GROUP BY " + cell(c) + ") AS g"
}

// counted is a value with its number of rows.
type counted struct {
	text string
	rows int64
}

// counts returns the rows of a statement of texts and numbers of rows.
func counts(ctx context.Context, in analysis.Input, sql string) ([]counted, error) {
	var out []counted
	err := in.Each(ctx, sql, func(r engine.Row) error {
		out = append(out, counted{r.Text(0), r.Int64(1)})
		return nil
	})
	return out, err
}

// mostFrequent returns the most frequent texts v of a FROM item that fulfil a condition.
func mostFrequent(ctx context.Context, in analysis.Input, from, condition string, limit int) ([]counted, error) {
	return counts(ctx, in, "SELECT v, n FROM "+from+" WHERE "+condition+" ORDER BY n DESC, v LIMIT "+strconv.Itoa(limit))
}

// among returns the condition that a column has one of some values, given as text.
func among(c analysis.Column, texts []string) string {
	literals := make([]string, len(texts))
	for i, text := range texts {
		literals[i] = analysis.Literal(c, text)
	}
	return c.Quoted() + " IN (" + strings.Join(literals, ", ") + ")"
}

// changeable reports whether a proposal may change the values of a column.
func changeable(c analysis.Column) bool { return !c.Masked && !c.Key && !c.Unique }

// ratio returns a part of a whole, or 0 of nothing.
func ratio(part, whole int64) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}
