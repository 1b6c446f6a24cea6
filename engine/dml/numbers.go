package dml

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/lakewarden/lakewarden/engine"
)

// int64s reads the rows of a statement whose columns all are BIGINT; NULL is -1.
func int64s(ctx context.Context, session engine.Session, st engine.Statement) (out [][]int64, err error) {
	result, err := session.Query(ctx, st)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, result.Close()) }()
	for {
		batch, err := result.Next(ctx)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		for row := range int(batch.NumRows()) {
			cells := make([]int64, batch.NumCols())
			for i, c := range batch.Columns() {
				values, ok := c.(*array.Int64)
				if !ok {
					batch.Release()
					return nil, fmt.Errorf("a number of ours has type %s", c.DataType())
				}
				if cells[i] = -1; values.IsValid(row) {
					cells[i] = values.Value(row)
				}
			}
			out = append(out, cells)
		}
		batch.Release()
	}
}
