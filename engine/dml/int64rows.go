package dml

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/lakewarden/lakewarden/engine"
)

// queryInt64s returns the rows of a statement whose columns all are BIGINT; NULL is
// -1.
func queryInt64s(ctx context.Context, session engine.Session, st engine.Statement) (out [][]int64, err error) {
	err = forEachInt64Row(ctx, session, st, func(cells []int64) error {
		out = append(out, slices.Clone(cells))
		return nil
	})
	return out, err
}

// forEachInt64Row is queryInt64s for many rows: it calls each for one row after the
// other. The slice is reused.
func forEachInt64Row(ctx context.Context, session engine.Session, st engine.Statement, each func(cells []int64) error) error {
	result, err := session.Query(ctx, st)
	if err != nil {
		return err
	}
	return engine.EachBatch(ctx, result, func(batch arrow.RecordBatch) error { return eachRow(batch, each) })
}

func eachRow(batch arrow.RecordBatch, each func(cells []int64) error) error {
	columns := make([]*array.Int64, batch.NumCols())
	for i, c := range batch.Columns() {
		values, ok := c.(*array.Int64)
		if !ok {
			return fmt.Errorf("unexpected type %s for a row number", c.DataType())
		}
		columns[i] = values
	}
	cells := make([]int64, len(columns))
	for row := range int(batch.NumRows()) {
		for i, values := range columns {
			if cells[i] = -1; values.IsValid(row) {
				cells[i] = values.Value(row)
			}
		}
		if err := each(cells); err != nil {
			return err
		}
	}
	return nil
}
