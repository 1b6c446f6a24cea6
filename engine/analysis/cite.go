package analysis

import (
	"context"
	"slices"

	"github.com/lakewarden/lakewarden/engine"
)

// MaxCited is the number of columns beyond which a cited row shows only some.
const MaxCited = 40

// Citable returns the columns that a cited row of a table shows: the columns of the primary
// key, those with the given names, and then others, at most [MaxCited] in all unless the key
// and the names are more. They are in the order of the table.
func (t Table) Citable(names ...string) []Column {
	chosen := map[string]bool{}
	for _, name := range slices.Concat(t.PrimaryKey, names) {
		chosen[name] = true
	}
	for _, c := range t.Columns {
		if len(chosen) >= MaxCited {
			break
		}
		chosen[c.Name] = true
	}
	var out []Column
	for _, c := range t.Columns {
		if chosen[c.Name] {
			out = append(out, c)
		}
	}
	return out
}

// Cite reads the columns of a row as text from the first columns of a result, which are
// [Shown], and returns the row under the given number.
func (t Table) Cite(number int, columns []Column, r engine.Row) CitedRow {
	row := CitedRow{Row: number, Values: make(map[string]*string, len(columns))}
	for i, c := range columns {
		row.Values[c.Name] = Text(r, i)
	}
	if len(t.PrimaryKey) > 0 {
		row.Key = make(map[string]*string, len(t.PrimaryKey))
		for _, name := range t.PrimaryKey {
			row.Key[name] = row.Values[name]
		}
	}
	return row
}

// ShownAll returns the SQL of [Shown] for columns, separated by commas.
func ShownAll(columns []Column) string {
	out := ""
	for i, c := range columns {
		if i > 0 {
			out += ", "
		}
		out += Shown(c)
	}
	return out
}

// Cited runs a statement whose columns are those of [ShownAll] and returns its rows, which
// must be few, numbered from first.
func (in Input) Cited(ctx context.Context, columns []Column, first int, sql string) ([]CitedRow, error) {
	out := []CitedRow{}
	err := in.Each(ctx, sql, func(r engine.Row) error {
		out = append(out, in.Table.Cite(first+len(out), columns, r))
		return nil
	})
	return out, err
}
