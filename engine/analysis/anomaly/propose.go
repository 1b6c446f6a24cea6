package anomaly

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/lakewarden/lakewarden/engine/analysis"
)

// maxRepairs is the number of rows that one proposal repairs.
const maxRepairs = 100

// proposals returns a change for each column with cells whose value is certain. It names the
// rows by their primary key; without one there are none.
func (d *detector) proposals(ctx context.Context, cells []cell) ([]analysis.Proposal, error) {
	out := []analysis.Proposal{}
	t := d.in.Table
	if len(t.PrimaryKey) == 0 {
		return out, nil
	}
	columns := map[int][]cell{}
	for _, c := range cells {
		column := d.column(c.column)
		if c.certain && !column.Masked && !slices.Contains(t.PrimaryKey, column.Name) && len(columns[c.column]) < maxRepairs {
			columns[c.column] = append(columns[c.column], c)
		}
	}
	for i := range d.sample.Columns {
		if len(columns[i]) == 0 || len(out) == d.in.Limit {
			continue
		}
		p, err := d.proposal(ctx, i, columns[i])
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// proposal returns the change of one column.
func (d *detector) proposal(ctx context.Context, column int, cells []cell) (analysis.Proposal, error) {
	t, c := d.in.Table, d.column(column)
	key := t.KeyColumns()
	values := map[int64]string{}
	rows := make([]*row, len(cells))
	for i, one := range cells {
		rows[i] = one.row
		values[one.row.identity] = analysis.Literal(c, one.expected)
	}
	items := make([]string, len(key))
	for i, k := range key {
		items[i] = "CAST(" + k.Quoted() + " AS VARCHAR)"
	}
	texts, err := d.in.Texts(ctx, fmt.Sprintf("SELECT CAST(%s AS VARCHAR), %s FROM %s WHERE %s IN (%s) ORDER BY ALL", d.identity(),
		strings.Join(items, ", "), t.From(d.sample.Columns...), d.identity(), identities(rows)))
	if err != nil {
		return analysis.Proposal{}, err
	}
	var conditions, cases []string
	for _, row := range texts {
		parts := make([]string, len(key))
		for i, k := range key {
			if parts[i] = k.Quoted() + " IS NULL"; row[i+1] != nil {
				parts[i] = k.Quoted() + " = " + analysis.Literal(k, *row[i+1])
			}
		}
		condition := "(" + strings.Join(parts, " AND ") + ")"
		var identity int64
		if _, err := fmt.Sscan(*row[0], &identity); err != nil {
			return analysis.Proposal{}, err
		}
		conditions = append(conditions, condition)
		cases = append(cases, "WHEN "+condition+" THEN "+values[identity])
	}
	where := strings.Join(conditions, " OR ")
	n, err := d.in.Rows(ctx, where, key...)
	if err != nil {
		return analysis.Proposal{}, err
	}
	confidence := 1.0
	for _, one := range cells {
		confidence = min(confidence, one.score)
	}
	return analysis.Proposal{
		Title:   fmt.Sprintf("Set %s of %s to the value that the other columns determine.", c.Name, analysis.Count(n, "row")),
		Columns: []string{c.Name}, Confidence: confidence, Effect: analysis.Effect{Rows: &n},
		Change: analysis.UpdateRows{Where: where, Set: map[string]string{c.Name: "CASE " + strings.Join(cases, " ") + " ELSE " + c.Quoted() +
			" END"}},
	}, nil
}
