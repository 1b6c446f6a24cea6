package anomaly

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/analysis"
)

const (
	// maxShownBytes bounds the texts of the rows of an answer. Those of further rows are cut
	// to briefText characters.
	maxShownBytes = 4 << 20
	briefText     = 20
)

// cite adds the findings up to the limit and reads their rows. It returns the rows.
func (d *detector) cite(ctx context.Context, result *Result, cells []cell) ([]analysis.CitedRow, error) {
	shown := cells[:min(len(cells), d.in.Limit)]
	var rows []*row
	number := map[*row]int{}
	involved := map[string]bool{}
	for _, c := range shown {
		if number[c.row] == 0 {
			rows = append(rows, c.row)
			number[c.row] = len(rows)
		}
		involved[d.column(c.column).Name] = true
		for i := range c.check.weights {
			involved[d.column(i).Name] = true
		}
	}
	var names []string
	for _, c := range d.in.Table.Columns {
		if involved[c.Name] && len(names) < analysis.MaxCited {
			names = append(names, c.Name)
		}
	}
	columns := d.in.Table.Citable(names...)
	cited := make([]analysis.CitedRow, len(rows))
	read := analysis.Union(d.sample.Columns, columns...)
	bytes := 0
	for part := range slices.Chunk(rows, perStatement) {
		sql := fmt.Sprintf("SELECT %s, %s FROM %s WHERE %s IN (%s) ORDER BY ALL", analysis.ShownAll(columns), d.identity(),
			d.in.Table.From(read...), d.identity(), identities(part))
		err := d.in.Each(ctx, sql, func(r engine.Row) error {
			n := number[d.rows[r.Int64(len(columns))]]
			if cited[n-1].Row == 0 {
				cited[n-1] = d.in.Table.Cite(n, columns, r)
				bytes = brief(cited[n-1], bytes)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	for _, c := range shown {
		f := Finding{Row: number[c.row], Column: d.column(c.column).Name, Kind: c.kind, Score: c.score, Reason: c.reason}
		if c.expected != "" {
			expected := c.expected
			f.Expected = &expected
		}
		result.Findings = append(result.Findings, f)
	}
	result.Rows = append(result.Rows, cited...)
	return cited, nil
}

// brief adds the size of the texts of a row to bytes, and cuts them once these are too many.
func brief(row analysis.CitedRow, bytes int) int {
	for name, value := range row.Values {
		if value == nil {
			continue
		}
		if text := []rune(*value); bytes > maxShownBytes && len(text) > briefText && row.Key[name] == nil {
			cut := string(text[:briefText]) + "…"
			row.Values[name] = &cut
		}
		bytes += len(*row.Values[name])
	}
	return bytes
}

// text tells what was found, with up to three examples.
func (d *detector) text(result Result, rows []analysis.CitedRow) (string, []analysis.Reference) {
	references := []analysis.Reference{}
	if len(result.Counts) == 0 {
		return fmt.Sprintf("Nothing in the %s of the table %s looks wrong.", analysis.Count(d.total, "row"), d.in.Table.Name), references
	}
	all := int64(0)
	parts := make([]string, 0, len(result.Counts))
	counts := slices.Clone(result.Counts)
	slices.SortStableFunc(counts, func(a, b Count) int { return cmp.Compare(b.Cells, a.Cells) })
	for _, c := range counts {
		all += c.Cells
		parts = append(parts, fmt.Sprintf("%s in %s (%s)", analysis.Count(c.Cells, "cell"), c.Column, strings.ReplaceAll(c.Kind, "_", " ")))
	}
	sentences := []string{fmt.Sprintf("In the %s of the table %s, %s wrong: %s.",
		analysis.Count(d.total, "row"), d.in.Table.Name, analysis.Plural(all, "cell looks", "cells look"), analysis.List(parts, 4))}
	kinds := map[string]bool{}
	for _, f := range result.Findings {
		if kinds[f.Column+f.Kind] || len(references) == 3 {
			continue
		}
		kinds[f.Column+f.Kind] = true
		ref := analysis.Reference{Row: f.Row, Column: f.Column, Value: rows[f.Row-1].Values[f.Column]}
		references = append(references, ref)
		sentence := fmt.Sprintf("In row %d, %s %s is suspicious: %s", f.Row, f.Column, ref.Tag(), f.Reason)
		if f.Expected != nil {
			sentence += " (expected: " + *f.Expected + ")"
		}
		sentences = append(sentences, sentence+".")
	}
	return strings.Join(sentences, " "), references
}
