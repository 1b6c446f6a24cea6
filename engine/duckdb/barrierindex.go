package duckdb

import (
	"errors"

	"github.com/lakewarden/lakewarden/engine"
)

// maxIndexed bounds the rows of a copy that gets an index: more take longer to
// index than many statements take without.
const maxIndexed = 4_000_000

// index makes the indexes that the copies of a statement lack. DuckDB looks rows up
// in one where it finds few, and gives them in the order of the copy all the same.
func (b *barriers) index(want []engine.Barrier, step func() error) error {
	for _, w := range want {
		el, ok := b.byName[w.Name]
		if !ok || w.Index == "" {
			continue
		}
		c := el.Value.(*barrierCopy)
		if c.indexed[w.Index] {
			continue
		}
		if err := step(); err != nil {
			return err
		}
		if err := b.indexBy(c, w.Index); err != nil {
			return err
		}
	}
	return nil
}

// indexBy tries once: a copy that is too large, or whose index does not fit, is
// read without.
func (b *barriers) indexBy(c *barrierCopy, column string) error {
	rows, err := b.inst.int64s("SELECT count(*) FROM temp.main." + engine.QuoteIdent(c.name))
	if err != nil {
		return err
	}
	if len(rows) == 1 && rows[0] <= maxIndexed {
		before, err := b.used()
		if err != nil {
			return err
		}
		err = b.inst.execOne("CREATE INDEX " + engine.QuoteIdent(c.name+" "+column) + " ON temp.main." + engine.QuoteIdent(c.name) + " (" + engine.QuoteIdent(column) + ")")
		if err != nil && !errors.Is(err, engine.ErrOutOfMemory) {
			return err
		}
		after, err := b.used()
		if err != nil {
			return err
		}
		c.bytes += max(after-before, 0)
	}
	c.indexed[column] = true
	return nil
}
