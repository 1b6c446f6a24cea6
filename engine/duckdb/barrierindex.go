package duckdb

import (
	"errors"

	"github.com/lakewarden/lakewarden/engine"
)

const (
	// maxIndexed bounds the rows of a copy with an index: a larger index takes longer to
	// create than many statements take without it.
	maxIndexed = 4_000_000
	// indexedRow is an upper bound of the bytes that an index takes for a row, except for long
	// texts.
	indexedRow = 64
)

// index creates the missing indexes of the copies of a statement, as long as copies and
// indexes stay within budget bytes. DuckDB uses an index if it finds few rows, and returns
// them in the order of the copy all the same.
func (b *barriers) index(want []engine.Barrier, budget int64, step func() error) error {
	for _, w := range want {
		c, ok := b.byName.Peek(w.Name)
		if !ok || w.Index == "" {
			continue
		}
		if c.indexed[w.Index] {
			continue
		}
		if err := step(); err != nil {
			return err
		}
		if err := b.indexBy(c, w.Index, budget); err != nil {
			return err
		}
	}
	return nil
}

// indexBy tries once. A copy can be read without an index, so a failure to create one is not
// an error of the statement.
func (b *barriers) indexBy(c *barrierCopy, column string, budget int64) error {
	rows, err := b.inst.Int64s("SELECT count(*) FROM temp.main." + engine.QuoteIdent(c.name))
	if err != nil {
		return err
	}
	c.indexed[column] = true
	if len(rows) != 1 || rows[0] > maxIndexed || budget > 0 && b.bytes()+rows[0]*indexedRow > budget {
		return nil
	}
	before, err := b.used()
	if err != nil {
		return err
	}
	err = b.inst.ExecOne("CREATE INDEX " + engine.QuoteIdent(c.name+" "+column) + " ON temp.main." +
		engine.QuoteIdent(c.name) + " (" + engine.QuoteIdent(column) + ")")
	if errors.Is(err, engine.ErrInterrupted) || errors.Is(err, engine.ErrTimeout) {
		delete(c.indexed, column) // nobody knows whether it could be made
		return err
	}
	if errors.Is(err, engine.ErrFatal) {
		return err
	}
	after, err := b.used()
	if err != nil {
		return err
	}
	c.bytes += max(after-before, 0)
	return nil
}
