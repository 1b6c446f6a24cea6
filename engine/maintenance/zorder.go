package maintenance

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/deltasql"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// The values of a column are put into ranges of about equal numbers of rows,
// found in a sample. A row's place on the curve has the bits of the numbers of
// its ranges in turn.
const (
	// The values of each column are divided into ranges with about equal numbers of
	// rows, which are estimated from a sample. A row's place on the curve
	// interleaves the bits of its range numbers.
	rangeBits  = 8
	placeBits  = 62 // of a BIGINT
	sampleRows = 200_000
	// extraBits of each column are finer than the part of the curve that a row
	// group holds, so that few rows are out of place where a row group ends. More
	// bits would cost time without a benefit, because readers read whole row
	// groups.
	extraBits = 3
)

// bitsPerColumn returns how many bits of each of n columns a place has if the rows
// make the given number of row groups.
func bitsPerColumn(n int, groups int64) int {
	perColumn := (bits.Len64(uint64(max(groups, 1))) + n - 1) / n //nolint:gosec // not negative
	return min(perColumn+extraBits, rangeBits, placeBits/n)
}

// MaxZOrder is the maximum number of columns of a curve: a place has two bits for
// each of them then.
const MaxZOrder = placeBits / 2

// curveColumns returns the columns of a curve by their names in files. Errors:
// [ErrZOrder].
func curveColumns(snap *delta.Snapshot, wanted []string) ([]engine.Column, error) {
	var out []engine.Column
	for i, name := range wanted {
		f, ok := snap.Schema().Field(name)
		switch {
		case !ok:
			return nil, &ZOrderError{At: i, Reason: "does not exist in the table"}
		case slices.Contains(snap.PartitionColumns(), name):
			return nil, &ZOrderError{At: i, Reason: "is a partition column, which divides the files already"}
		case !hasBounds(f.Type):
			return nil, &ZOrderError{At: i, Reason: "has a type without bounds in file statistics"}
		case slices.Contains(wanted[:i], name):
			return nil, &ZOrderError{At: i, Reason: "is named twice"}
		}
		if snap.Mapped() {
			name = f.PhysicalName()
		}
		out = append(out, engine.Column{Name: name, Type: deltasql.Type(f.Type)})
	}
	if len(out) > MaxZOrder {
		return nil, &ZOrderError{At: MaxZOrder, Reason: "is one column too many"}
	}
	return out, nil
}

func columnNames(columns []engine.Column) []string {
	var list []string
	for _, c := range columns {
		list = append(list, c.Name)
	}
	return list
}

// hasBounds reports whether statistics have bounds for values of the type.
func hasBounds(t delta.DataType) bool {
	switch t := t.(type) {
	case delta.Decimal:
		return true
	case delta.Primitive:
		return t != delta.Binary && t != delta.Boolean
	}
	return false
}

// curvePlace returns SQL for a row's place on the curve, given the bounds of each
// column's ranges, whose numbers have width bits.
func curvePlace(columns []engine.Column, bounds [][]string, width int) string {
	terms := make([]string, len(columns))
	for i, c := range columns {
		spread := func(n int) string {
			var v int64
			for b := range width {
				v |= int64(n) >> b & 1 << (b*len(columns) + len(columns) - 1 - i)
			}
			return strconv.FormatInt(v, 10)
		}
		terms[i] = rangeNumber(c, bounds[i], 0, spread) + "::BIGINT"
	}
	return strings.Join(terms, " + ")
}

// rangeNumber returns SQL for a search tree over the bounds: a value is in the
// range first + n if n bounds are at most the value. NULL is in the first range.
func rangeNumber(c engine.Column, bounds []string, first int, number func(int) string) string {
	if len(bounds) == 0 {
		return number(first)
	}
	middle := len(bounds) / 2
	return "CASE WHEN " + engine.QuoteIdent(c.Name) + " >= " + bounds[middle] +
		" THEN " + rangeNumber(c, bounds[middle+1:], first+middle+1, number) +
		" ELSE " + rangeNumber(c, bounds[:middle], first, number) + " END"
}

// orderBy returns the SQL of the order of a bin's rows. With one column it is that
// column.
func (r *rewriter) orderBy(ctx context.Context, in input, rowGroup int64) (string, error) {
	if len(r.zColumns) == 1 {
		return engine.QuoteIdent(r.zColumns[0].Name), nil
	}
	width := bitsPerColumn(len(r.zColumns), math.MaxInt64)
	if in.rows >= 0 {
		width = bitsPerColumn(len(r.zColumns), in.rows/rowGroup)
	}
	bounds, err := r.bounds(ctx, in, 1<<width)
	if err != nil {
		return "", err
	}
	return curvePlace(r.zColumns, bounds, width), nil
}

// bounds returns, as SQL, the bounds that divide the values of each column into the
// given number of ranges.
func (r *rewriter) bounds(ctx context.Context, in input, ranges int) ([][]string, error) {
	var sampled, items []string
	for i, c := range r.zColumns {
		name := "c" + strconv.Itoa(i)
		sampled = append(sampled, engine.QuoteIdent(c.Name)+" AS "+name)
		items = append(items, fmt.Sprintf("quantile_disc(%s, list_transform(range(1, %d), n -> n / %d.0))::VARCHAR[]", name, ranges, ranges))
	}
	sql := "SELECT " + strings.Join(items, ", ") + " FROM (SELECT " + strings.Join(sampled, ", ") + " FROM " + in.from +
		" USING SAMPLE reservoir(" + strconv.Itoa(sampleRows) + " ROWS) REPEATABLE (1))"
	result, err := r.opts.Session.Query(ctx, engine.Statement{SQL: sql, Sources: in.sources, Lease: r.opts.Lease})
	if err != nil {
		return nil, err
	}
	out := make([][]string, len(r.zColumns))
	err = engine.EachBatch(ctx, result, func(batch arrow.RecordBatch) error { // of one row
		for i, c := range r.zColumns {
			out[i] = distinctBounds(batch.Column(i), c.Type)
		}
		return nil
	})
	return out, err
}

// distinctBounds returns the values of the list in the first row as SQL of the given
// type, each once; there are none if the list is NULL. The list is sorted.
func distinctBounds(column arrow.Array, typ sqltype.Type) []string {
	list, ok := column.(*array.List)
	if !ok || list.IsNull(0) {
		return nil
	}
	start, end := list.ValueOffsets(0)
	values := array.NewSlice(list.ListValues(), start, end)
	defer values.Release()
	var bounds []string
	for j := range values.Len() {
		bounds = append(bounds, engine.QuoteString(values.ValueStr(j))+"::"+typ.String())
	}
	return slices.Compact(bounds)
}
