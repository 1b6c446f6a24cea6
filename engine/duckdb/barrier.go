package duckdb

import (
	"errors"
	"math"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/duckdb/native"
)

// barriers are the filtered copies of an instance, by content address: equal names mean equal
// copies.
type barriers struct {
	inst   *native.Instance
	byName *simplelru.LRU[string, *barrierCopy]
}

type barrierCopy struct {
	name  string
	bytes int64
	// dropping reports whether a drop of the copy has begun. An interrupt can end the drop, so the
	// copy may still exist.
	dropping bool
	// indexed holds the columns for which an index was requested, created or not.
	indexed map[string]bool
}

func newBarriers(in *native.Instance) *barriers {
	byName, _ := simplelru.NewLRU[string, *barrierCopy](math.MaxInt, nil) // fails at size 0 only
	return &barriers{inst: in, byName: byName}
}

// missing returns the copies that do not exist yet, and marks the others as used.
func (b *barriers) missing(want []engine.Barrier) []engine.Barrier {
	var out []engine.Barrier
	seen := map[string]bool{}
	for _, w := range want {
		if seen[w.Name] {
			continue
		}
		seen[w.Name] = true
		if have, ok := b.byName.Get(w.Name); !ok || have.dropping {
			out = append(out, w)
		}
	}
	return out
}

// make creates the missing copies of a statement, after dropping old copies that would leave
// it less than budget bytes. step is called before each copy; its error ends the work.
func (b *barriers) make(want, missing []engine.Barrier, budget int64, step func() error) error {
	if len(missing) == 0 {
		return b.index(want, budget, step)
	}
	inUse := make(map[string]bool, len(want))
	for _, w := range want {
		inUse[w.Name] = true
	}
	if budget > 0 {
		if err := b.shrink(budget, inUse); err != nil {
			return err
		}
	}
	for _, m := range missing {
		if err := step(); err != nil {
			return err
		}
		if err := b.create(m); err != nil {
			return err
		}
	}
	return b.index(want, budget, step)
}

// create fills one copy. The SQL is in parentheses, where only a query parses.
func (b *barriers) create(m engine.Barrier) error {
	before, err := b.used()
	if err != nil {
		return err
	}
	// A copy that an interrupt left behind unmeasured is replaced.
	sql := "CREATE OR REPLACE TEMP TABLE " + engine.QuoteIdent(m.Name) + " AS (" + m.SQL + "\n)"
	if err := b.fill(sql, m.Args); err != nil {
		// A position would point into SQL that the caller has never seen.
		if e := native.AsError(err); e != nil {
			e.Position = -1
		}
		return err
	}
	if err := b.dropCounts(m); err != nil {
		return err
	}
	after, err := b.used()
	if err != nil {
		return err
	}
	b.byName.Add(m.Name, &barrierCopy{name: m.Name, bytes: max(after-before, 0), indexed: map[string]bool{}})
	return nil
}

// dropCounts drops the estimates of distinct values in the uncounted columns of a new copy. DuckDB
// counts as it appends rows, and starts anew for a column whose type is set, even if it is the same
// type. A copy with its estimates can be read all the same, so only an interrupt and a fatal error
// are errors.
func (b *barriers) dropCounts(m engine.Barrier) error {
	table := "ALTER TABLE temp.main." + engine.QuoteIdent(m.Name)
	for _, c := range m.Uncounted {
		name := engine.QuoteIdent(c.Name)
		err := b.inst.ExecOne(table + " ALTER COLUMN " + name + " TYPE " + c.Type + " USING " + name)
		if errors.Is(err, engine.ErrInterrupted) || errors.Is(err, engine.ErrTimeout) || errors.Is(err, engine.ErrFatal) {
			return err
		}
	}
	return nil
}

// fill runs the one statement that makes a copy.
func (b *barriers) fill(sql string, args engine.Args) error {
	if len(args.Positional)+len(args.Named) == 0 {
		return b.inst.ExecOne(sql)
	}
	c, err := b.inst.Open(sql, args, native.Creates, func() error { return nil })
	if err != nil {
		return err
	}
	defer c.Close()
	return c.Each(func(engine.Row) error { return nil })
}

// used returns the bytes that in-memory tables and their indexes take, spilled or not.
func (b *barriers) used() (int64, error) {
	n, err := b.inst.Int64s(`SELECT (memory_usage_bytes + temporary_storage_bytes)::BIGINT
		FROM system.main.duckdb_memory() WHERE tag IN ('IN_MEMORY_TABLE', 'ART_INDEX')`)
	if err != nil || len(n) == 0 {
		return 0, err
	}
	var sum int64
	for _, bytes := range n {
		sum += bytes
	}
	return sum, nil
}

// bytes is the estimated size of all copies.
func (b *barriers) bytes() int64 {
	var sum int64
	for _, c := range b.byName.Values() {
		sum += c.bytes
	}
	return sum
}

// shrink drops the least recently used copies until keep bytes remain, except those in use. A
// keep of 0 drops empty copies too.
func (b *barriers) shrink(keep int64, inUse map[string]bool) error {
	sum := b.bytes()
	for _, c := range b.byName.Values() { // the oldest first
		if sum <= keep && keep > 0 {
			break
		}
		if inUse[c.name] {
			continue
		}
		c.dropping = true
		if err := b.inst.Exec("DROP TABLE IF EXISTS temp.main." + engine.QuoteIdent(c.name)); err != nil {
			return err
		}
		sum -= c.bytes
		b.byName.Remove(c.name)
	}
	return nil
}
