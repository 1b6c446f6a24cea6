package duckdb

import (
	"errors"

	"github.com/lakewarden/lakewarden/engine"
)

const (
	// maxIndexed bounds the rows of a copy that gets an index: more take longer to
	// index than many statements take without.
	maxIndexed = 4_000_000
	// indexedRow is more than an index takes for a row, in bytes, but for long texts.
	indexedRow = 64
)

// index makes the indexes that the copies of a statement lack, as far as copies and
// indexes stay within budget bytes. DuckDB looks rows up in one where it finds few,
// and gives them in the order of the copy all the same.
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

// indexBy tries once. A copy is read as well without an index, so one that cannot be
// made is no error of the statement.
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
