package records

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/lakewarden/lakewarden/engine/analysis"
)

// maxKeys is the memory in bytes that the keys of all rows may take.
const maxKeys = 256 << 20

// found is what the search for duplicates has found.
type found struct {
	plan     plan
	table    *table
	clusters []cluster
	// rows is the number of rows of the table, compared that of the rows compared.
	rows, compared int64
	// exact is the number of rows that are equal to another one in all columns but
	// identifiers, and are believed to be duplicates.
	exact int64
	// identifiers are the columns whose values are all different, without the key.
	identifiers []analysis.Column
	sampled     bool
	warnings    []string
}

// find searches for duplicates. Its table is nil if no column can be compared.
func find(ctx context.Context, in analysis.Input) (*found, error) {
	const steps = 16
	progress := func(done int) {
		if in.Progress != nil {
			in.Progress(done, steps)
		}
	}
	rows, err := in.Rows(ctx, "TRUE")
	if err != nil {
		return nil, err
	}
	f := &found{rows: rows, compared: rows}
	if rows < 2 {
		return f, nil
	}
	all, err := profiles(ctx, in)
	if err != nil {
		return nil, err
	}
	if err := markIdentifiers(ctx, in, all); err != nil {
		return nil, err
	}
	progress(2)
	if f.plan = f.planOf(in, all); len(f.plan.chosen) == 0 {
		f.warn("No column can be compared: each is an identifier, has long texts, or has a single value.")
		return f, nil
	}
	if err := f.bound(ctx, in); err != nil {
		return nil, err
	}
	if f.table, err = load(ctx, in, f.plan); err != nil {
		return nil, err
	}
	f.compared = int64(f.table.rows)
	progress(3)
	err = f.match(ctx, func(done, total int) { progress(3 + 12*done/total) })
	progress(steps)
	return f, err
}

func (f *found) warn(format string, args ...any) {
	f.warnings = append(f.warnings, fmt.Sprintf(format, args...))
}

// planOf decides what is read.
func (f *found) planOf(in analysis.Input, all []profile) plan {
	p := plan{chosen: choose(all, f.rows)}
	leave := map[string]bool{}
	for _, c := range all {
		switch {
		case c.identifier:
			leave[c.column.Name] = true
			if !slices.Contains(in.Table.PrimaryKey, c.column.Name) {
				f.identifiers = append(f.identifiers, c.column)
			}
		case isAuditTime(c.column):
			leave[c.column.Name] = true
		}
	}
	for _, c := range in.Columns {
		if !leave[c.Name] && !slices.Contains(in.Table.PrimaryKey, c.Name) {
			p.whole = append(p.whole, c)
		}
	}
	p.key = in.Table.KeyColumns()
	return p
}

// bound keeps the memory of the rows within the budget.
func (f *found) bound(ctx context.Context, in analysis.Input) error {
	key := 0.0
	if len(f.plan.key) > 0 {
		total, err := in.Count(ctx, "SELECT coalesce(sum(octet_length(encode("+keyText(f.plan.key)+"))), 0)::BIGINT FROM "+
			in.Table.From(f.plan.key...))
		if err != nil {
			return err
		}
		if key = float64(total)/float64(f.rows) + 8; total > maxKeys {
			f.plan.key, key = nil, 0
			f.warn("The values of the primary key are too long to be listed.")
		}
	}
	parts := int64(math.Ceil(memory(f.plan.chosen, f.rows, key) / budget))
	if parts > 1 {
		f.plan.condition = part(f.plan.chosen, parts)
		f.sampled = true
		f.warn("The table is large, so one of %d parts of its rows was compared. Rows that begin alike in a column of names are in the "+
			"same part.", parts)
	}
	return nil
}

// doubtPerIdentifier is the evidence against a match, in bits, of each identifier that no two
// rows share. One identifier is expected, because rows have keys.
const doubtPerIdentifier = 4

// doubt returns the evidence against every match.
func (f *found) doubt() float64 {
	more := len(f.identifiers)
	if len(f.plan.key) == 0 {
		more--
	}
	return doubtPerIdentifier * float64(min(max(more, 0), 3))
}

// match compares the rows that have been read.
func (f *found) match(ctx context.Context, progress func(done, total int)) error {
	t := f.table
	if t.records() == 0 {
		return nil
	}
	parallel(len(t.fields), t.measureField)
	m := t.newModel(f.doubt())
	pairs, skipped, err := m.candidates(ctx, progress)
	if err != nil {
		return err
	}
	if skipped > 0 {
		f.warn("Not all rows were compared: %d groups of rows that share only common values were too large.", skipped)
	}
	m.learn(pairs)
	f.clusters = m.clusters(pairs)
	for _, c := range f.clusters {
		for _, record := range c.records {
			f.exact += int64(t.size(int(record)) - 1)
		}
	}
	if repeats := int64(t.rows-t.records()) - f.exact; repeats > 0 {
		f.warn("%d rows equal another row, but may do so by coincidence: the columns have too few different values.", repeats)
	}
	return nil
}
