package native

import (
	"errors"
	"io"

	"github.com/lakewarden/lakewarden/engine"
)

// Each runs a SELECT and calls f for every row of its small result.
func (in *Instance) Each(sql string, args engine.Args, f func(engine.Row) error) error {
	c, err := in.Open(sql, args, selects, func() error { return nil })
	if err != nil {
		return err
	}
	defer c.Close()
	return c.Each(f)
}

// Each calls f for every remaining row.
func (c *Cursor) Each(f func(engine.Row) error) error {
	for {
		batch, err := c.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for row := range int(batch.NumRows()) {
			if err := f(engine.Row{Batch: batch, Index: row}); err != nil {
				batch.Release()
				return err
			}
		}
		batch.Release()
	}
}
