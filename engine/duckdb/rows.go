package duckdb

import (
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/lakewarden/lakewarden/engine"
)

// rowReader reads one row of a small result of ours.
type rowReader struct {
	batch arrow.RecordBatch
	row   int
}

// int64 reads a BIGINT; NULL is 0.
func (r rowReader) int64(col int) int64 {
	if c, ok := r.batch.Column(col).(*array.Int64); ok && !c.IsNull(r.row) {
		return c.Value(r.row)
	}
	return 0
}

// text reads a VARCHAR; NULL is "".
func (r rowReader) text(col int) string {
	if c, ok := r.batch.Column(col).(*array.String); ok && !c.IsNull(r.row) {
		return c.Value(r.row)
	}
	return ""
}

// each runs a SELECT of ours and calls f for every row. Text must be copied by f
// if it keeps it: it lies in the batch.
func (in *instance) each(sql string, args engine.Args, f func(rowReader) error) error {
	c, err := in.open(sql, args, selects, func() error { return nil })
	if err != nil {
		return err
	}
	defer c.close()
	return c.each(f)
}

func (c *cursor) each(f func(rowReader) error) error {
	for {
		batch, err := c.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for row := range int(batch.NumRows()) {
			if err := f(rowReader{batch, row}); err != nil {
				batch.Release()
				return err
			}
		}
		batch.Release()
	}
}
