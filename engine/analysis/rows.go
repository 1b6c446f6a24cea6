package analysis

import (
	"context"
	"strconv"

	"github.com/lakewarden/lakewarden/engine"
)

// MaxText is the length in characters beyond which texts are not compared, and not shown
// whole: see [Shown].
const MaxText = 200

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// Shown returns the SQL of a column's value as text of at most MaxText characters.
func Shown(c Column) string { return ShownSQL(c.Quoted()) }

// ShownSQL returns the SQL of an expression's value as text of at most MaxText characters.
func ShownSQL(expr string) string {
	return "left(CAST(" + expr + " AS VARCHAR), " + strconv.Itoa(MaxText) + ")"
}

// Shortened returns the SQL of a column's value, cut to MaxText characters if it is a text.
func Shortened(c Column) string {
	if c.Kind() == KindText {
		return "left(" + c.Quoted() + ", " + strconv.Itoa(MaxText) + ")"
	}
	return c.Quoted()
}

// Text returns a copy of a VARCHAR of a row, or nil for NULL.
func Text(r engine.Row, column int) *string {
	if r.Null(column) {
		return nil
	}
	text := r.Text(column)
	return &text
}

// Each runs a statement and passes its rows to take, which must not retain them.
func (in Input) Each(ctx context.Context, sql string, take func(engine.Row) error) error {
	result, err := in.Query(ctx, sql)
	if err != nil {
		return err
	}
	_, err = engine.Collect(ctx, result, func(r engine.Row) (struct{}, error) { return struct{}{}, take(r) })
	return err
}

// Texts runs a statement whose columns are all VARCHAR and returns its rows, which must be
// few. A nil value is NULL.
func (in Input) Texts(ctx context.Context, sql string) ([][]*string, error) {
	var out [][]*string
	err := in.Each(ctx, sql, func(r engine.Row) error {
		row := make([]*string, r.Batch.NumCols())
		for i := range row {
			row[i] = Text(r, i)
		}
		out = append(out, row)
		return nil
	})
	return out, err
}

// Count returns the BIGINT of a statement with one row and one column.
func (in Input) Count(ctx context.Context, sql string) (int64, error) {
	var n int64
	err := in.Each(ctx, sql, func(r engine.Row) error {
		n = r.Int64(0)
		return nil
	})
	return n, err
}

// Rows returns the number of rows that fulfil a condition over columns.
func (in Input) Rows(ctx context.Context, condition string, columns ...Column) (int64, error) {
	return in.Count(ctx, "SELECT count(*) FROM "+in.Table.From(columns...)+" WHERE ("+condition+")")
}

// Chunks splits columns into groups of at most size, for statements over wide tables.
func Chunks(columns []Column, size int) [][]Column {
	var out [][]Column
	for len(columns) > size {
		out, columns = append(out, columns[:size]), columns[size:]
	}
	if len(columns) > 0 {
		out = append(out, columns)
	}
	return out
}
