package parquetcut

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// fewRows are so few that no row group of their own is made of them.
const fewRows = 4096

const (
	// growth is by how many bytes a file may be longer than the one that it is made of, and
	// by one in growthShare of that one, beside dictionaries that stand there twice: its
	// footer and the pages at the edges can be.
	growth      = 256 << 10
	growthShare = 16
	// storedGrowth is how often a file with stored pages may be longer than that.
	storedGrowth = 4
)

// Gap is what [File.Without] can leave out so that some rows are gone: those and as few
// others as the file allows, but at least so many in all. It may be the whole file.
func (f *File) Gap(gone Rows, least int64) (Rows, error) {
	if gone.From < 0 || gone.To > f.rows || gone.Count() <= 0 {
		return Rows{}, fmt.Errorf("%w: rows %d to %d of %d", ErrNotCut, gone.From, gone.To, f.rows)
	}
	gap := gone
	if gap.Count() < least {
		gap.To = min(gap.From+least, f.rows)
		gap.From = min(gap.From, max(gap.To-least, 0))
	}
	for _, g := range f.groups {
		if g.rows.From < gap.From && gap.From < g.rows.To && (!g.flat || gap.From-g.rows.From < fewRows) {
			gap.From = g.rows.From
		}
		if g.rows.From < gap.To && gap.To < g.rows.To && (!g.flat || g.rows.To-gap.To < fewRows) {
			gap.To = g.rows.To
		}
	}
	return gap, nil
}

// Without writes the file without the rows of a gap, which [File.Gap] has found, and
// returns its length and the bounds of columns, where the file's own statistics and page
// indexes tell them. These are believed where they name bounds that no value exceeds, as
// every reader does that leaves pages out by them; that a bound is met is seen or, of row
// groups that stay whole, said by the file. What comes last of a row group that is cut in
// its middle goes through later, which is empty before. Errors: [ErrNotCut], those of the
// bucket and of the writers.
func (f *File) Without(ctx context.Context, gap Rows, to io.Writer, later io.ReadWriteSeeker) (size int64, bounds []Bounds, err error) {
	keep := []Rows{{0, gap.From}, {gap.To, f.rows}}
	limit := f.size + f.size/growthShare + growth
	for _, g := range f.groups {
		if g.flat && len(g.within(keep)) == 2 {
			limit += g.dictionaries()
		}
	}
	size, made, err := f.write(ctx, keep, newTarget(to, limit), later)
	if leaves, flat := leavesOf(f.footer.structures(2)); err == nil && flat {
		bounds = boundsOf(leaves, made)
	}
	return size, bounds, err
}

// Only writes the rows of a gap as a file that is to be read soon and once, and returns
// its length. Errors are those of [File.Without].
func (f *File) Only(ctx context.Context, gap Rows, to io.Writer) (size int64, err error) {
	out := newTarget(to, storedGrowth*f.size+growth)
	out.stored = true
	size, _, err = f.write(ctx, []Rows{gap}, out, nil)
	return size, err
}

// write writes some stretches of rows, which are in order, and returns the length of the
// file and its row groups.
func (f *File) write(ctx context.Context, keep []Rows, out *target, later io.ReadWriteSeeker) (size int64, groups []structure, err error) {
	in := &source{ctx: ctx, file: f}
	defer func() { err = errors.Join(err, in.close()) }()
	if err := out.write([]byte(magic)); err != nil {
		return 0, nil, err
	}
	var rows int64
	for i := range f.groups {
		made, err := f.groups[i].copy(in, out, keep, later)
		if err != nil {
			return 0, nil, err
		}
		groups = append(groups, made...)
	}
	for i := range groups {
		rows += groups[i].number(3, 0)
		if groups[i].has(7) {
			groups[i] = groups[i].with(7, int16(min(i, 1<<15-1))) //nolint:gosec // bounded
		}
	}
	if rows == 0 {
		return 0, nil, fmt.Errorf("%w: nothing is left", ErrNotCut)
	}
	footer, err := f.footer.with(3, rows).with(4, structureList(groups)).encode()
	if err != nil {
		return 0, nil, err
	}
	footer = binary.LittleEndian.AppendUint32(footer, uint32(len(footer))) //nolint:gosec // bounded by the limit of the target
	if err := errors.Join(out.write(append(footer, magic...)), out.w.Flush()); err != nil {
		return 0, nil, err
	}
	return out.at, groups, nil
}

// within are the stretches of the row group that are kept, counted from its first row.
func (g *group) within(keep []Rows) (out []Rows) {
	for _, k := range keep {
		if part := (Rows{max(k.From, g.rows.From) - g.rows.From, min(k.To, g.rows.To) - g.rows.From}); part.Count() > 0 {
			out = append(out, part)
		}
	}
	return out
}

// copy writes what is kept of a row group: each stretch becomes one.
func (g *group) copy(in *source, out *target, keep []Rows, later io.ReadWriteSeeker) ([]structure, error) {
	parts := g.within(keep)
	switch {
	case len(parts) == 0:
		return nil, nil
	case parts[0].Count() == g.rows.Count():
		made, err := g.whole(in, out)
		return []structure{made}, err
	case !g.flat:
		return nil, fmt.Errorf("%w: a row group that stays whole", ErrNotCut)
	case len(parts) == 1:
		first, _, err := g.cut(in, parts[0], out, Rows{}, nil)
		return []structure{g.made(first, parts[0].Count(), 0)}, err
	}
	spool := newTarget(later, out.limit)
	first, second, err := g.cut(in, parts[0], out, parts[1], spool)
	if err != nil {
		return nil, err
	}
	base := out.at
	if err := spool.w.Flush(); err != nil {
		return nil, fmt.Errorf("setting pages aside: %w", err)
	}
	if _, err := later.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("setting pages aside: %w", err)
	}
	if err := out.copy(later, spool.at); err != nil {
		return nil, err
	}
	return []structure{g.made(first, parts[0].Count(), 0), g.made(second, parts[1].Count(), base)}, nil
}

// whole copies a row group. What lies outside of it, indexes and filters, stays behind.
func (g *group) whole(in *source, out *target) (structure, error) {
	columns := make([]structure, len(g.chunks))
	first := out.at
	for i, c := range g.chunks {
		moved := out.at - c.start
		if err := in.seek(c.start, g.end); err != nil {
			return nil, err
		}
		if err := out.copy(in, c.size); err != nil {
			return nil, err
		}
		meta := c.meta.with(9, c.meta.number(9, 0)+moved).without(10, 14, 15)
		if at := meta.number(11, 0); at > 0 {
			meta = meta.with(11, at+moved)
		}
		columns[i] = c.column.without(4, 5, 6, 7).with(2, int64(0)).with(3, meta)
	}
	made := g.meta.with(1, structureList(columns))
	if made.has(5) {
		made = made.with(5, first)
	}
	return made, nil
}

// cut writes one or two stretches of a row group, each to a target of its own.
func (g *group) cut(in *source, a Rows, toA *target, b Rows, toB *target) (first, second []written, err error) {
	var index pageIndex // of no use for what is read once
	if !toA.stored {
		if index, err = g.readPageIndex(in); err != nil {
			return nil, nil, err
		}
	}
	for i := range g.chunks {
		c := &g.chunks[i]
		pages := index.pages(c, g.rows.Count())
		parts := []*stretch{newStretch(c, a, toA, pages)}
		if toB != nil {
			parts = append(parts, newStretch(c, b, toB, pages))
		}
		if err := in.seek(c.start, g.end); err != nil {
			return nil, nil, err
		}
		if err := c.split(in, g.rows.Count(), parts); err != nil {
			return nil, nil, err
		}
		first = append(first, parts[0].written)
		if toB != nil {
			second = append(second, parts[1].written)
		}
	}
	return first, second, nil
}

// made describes a new row group whose target lies at base.
func (g *group) made(chunks []written, rows, base int64) structure {
	var raw, packed int64
	columns := make([]structure, len(chunks))
	for i, c := range chunks {
		// Statistics, histograms and locations are those of the whole chunk.
		meta := c.meta.without(10, 11, 12, 13, 14, 15, 16, 17).with(5, rows).with(6, c.raw).with(7, c.packed).with(9, base+c.data)
		if !c.stats.unknown {
			meta = meta.with(12, c.stats.encode(meta.number(1, -1)))
		}
		if c.dictionary >= 0 {
			meta = meta.with(11, base+c.dictionary)
		}
		columns[i] = c.column.without(4, 5, 6, 7).with(2, int64(0)).with(3, meta)
		raw, packed = raw+c.raw, packed+c.packed
	}
	made := g.meta.with(1, structureList(columns)).with(2, raw).with(3, rows)
	if made.has(5) && len(chunks) > 0 {
		start := chunks[0].data
		if chunks[0].dictionary >= 0 {
			start = chunks[0].dictionary
		}
		made = made.with(5, base+start)
	}
	if made.has(6) {
		made = made.with(6, packed)
	}
	return made
}
