package native

import (
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/lakewarden/lakewarden/engine"
)

// Row reads one row of a small result of ours.
type Row struct {
	Batch arrow.RecordBatch
	Row   int
}

// Int64 reads a BIGINT; NULL is 0.
func (r Row) Int64(col int) int64 {
	if c, ok := r.Batch.Column(col).(*array.Int64); ok && !c.IsNull(r.Row) {
		return c.Value(r.Row)
	}
	return 0
}

// Text reads a VARCHAR; NULL is "".
func (r Row) Text(col int) string {
	if c, ok := r.Batch.Column(col).(*array.String); ok && !c.IsNull(r.Row) {
		return c.Value(r.Row)
	}
	return ""
}

// Each runs a SELECT of ours and calls f for every row. Text must be copied by f
// if it keeps it: it lies in the batch.
func (in *Instance) Each(sql string, args engine.Args, f func(Row) error) error {
	c, err := in.Open(sql, args, selects, func() error { return nil })
	if err != nil {
		return err
	}
	defer c.Close()
	return c.Each(f)
}

func (c *Cursor) Each(f func(Row) error) error {
	for {
		batch, err := c.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for row := range int(batch.NumRows()) {
			if err := f(Row{batch, row}); err != nil {
				batch.Release()
				return err
			}
		}
		batch.Release()
	}
}
