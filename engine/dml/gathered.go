package dml

import (
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
)

// gatheredGroup is the number of rows of a row group that is made of gathered rows, and
// leastGathered of one of few rows. Each thread collects one before it encodes it, beside
// what is gathered.
const (
	gatheredGroup = 30 * 2048
	leastGathered = 8 * 2048
)

// gatheredRows is the number of rows of a row group. Where all files are cut it follows
// from their gaps, so that each thread has a row group to encode.
func (w *write) gatheredRows(rests []*rest) int64 {
	var rows int64
	for _, r := range rests {
		if r == nil {
			return gatheredGroup
		}
		rows += r.gap.Count()
	}
	each := rows/int64(w.Lease.Threads) + 2047
	return min(max(each-each%2048, leastGathered), gatheredGroup)
}

// gathers reports whether what is left of files is gathered before it is written. One
// thread reads what other writers keep in one row group, and encodes it too, which
// takes most of the time; gathered rows are encoded by all threads. That asks for
// memory, so it is done for few files, and those small.
func (w *write) gathers(h hit, rests []*rest) bool {
	var size int64
	for _, f := range h.files {
		size += f.Add.Size
	}
	for _, r := range rests {
		if r != nil {
			size -= r.of.Add.Size - r.gapBytes
		}
	}
	n := len(h.files)
	return !w.KeepOrder && w.Lease.Threads > 1 && n > 0 && n < 2*w.Lease.Threads && size <= w.Lease.Memory/2/engine.Expansion
}

// remaining are queries for what is left of the files that are hit and goes to new files:
// of files that are cut, the rows of their gaps.
func (w *write) remaining(h hit, rests []*rest) (queries []string, sources []engine.Source) {
	var cut, uncut []int
	for i, r := range rests {
		if r == nil {
			uncut = append(uncut, i)
		} else {
			cut = append(cut, i)
		}
	}
	if len(cut) > 0 {
		gaps := w.standIns(h, rests, func(r *rest) string { return r.dir + "/" + gapName })
		queries = append(queries, w.left(columnList("o", w.Columns), gaps.Relation(), w.inGaps(h, rests, cut).from))
		sources = append(sources, gaps)
	}
	if len(uncut) > 0 {
		part := h
		if len(cut) > 0 {
			part = w.partOf(h, uncut)
		}
		queries, sources = append(queries, w.pieces(part, w.gathers(h, rests))...), append(sources, part.table.sources...)
	}
	return queries, append(sources, h.rows.sources...)
}

// inGaps are the positions that go in the numbers of the gaps and of the rows there.
func (w *write) inGaps(h hit, rests []*rest, cut []int) relation {
	firsts := make([]string, len(cut))
	for i, n := range cut {
		firsts[i] = strconv.FormatInt(rests[n].gap.From, 10)
	}
	rows, atRow := w.renumbered(h.rows, cut), engine.QuoteIdent(w.names.atRow)
	rows.from = "(SELECT * REPLACE (" + atRow + " - ([" + strings.Join(firsts, ", ") + "]::BIGINT[])[" + engine.QuoteIdent(w.names.atFile) + " + 1] AS " + atRow + ") FROM " + rows.from + ")"
	return rows
}

// pieces are queries for what is left of the files that are hit. Where there are
// fewer files than threads they are cut by row, so that threads share a row group. The
// pieces end up in any order. Where they were cut is left to chance: a policy that
// comes later may hide rows of which nobody is to learn how many there are.
func (w *write) pieces(h hit, gathered bool) []string {
	items := columnList("o", w.Columns) + w.copied("o")
	n, rows := w.Lease.Threads/max(len(h.files), 1), int64(0)
	for _, f := range h.files {
		if stats, err := f.Stats(); err == nil && stats.NumRecords != nil {
			rows = max(rows, *stats.NumRecords)
		}
	}
	if n < 2 || rows == 0 || !gathered {
		return []string{w.left(items, h.table.from, h.rows.from)}
	}
	out := make([]string, n)
	to := int64(0)
	for i := range out {
		// The last has no end: the log may count too few.
		from := to
		to = rows/int64(n)*int64(i+1) + rand.N(rows/int64(2*n)+1) - rows/int64(4*n)
		part := func(relation, row string) string {
			condition := engine.QuoteIdent(row) + " >= " + strconv.FormatInt(from, 10)
			if i < n-1 {
				condition += " AND " + engine.QuoteIdent(row) + " < " + strconv.FormatInt(to, 10)
			}
			return "(SELECT * FROM " + relation + " WHERE " + condition + ")"
		}
		out[i] = w.left(items, part(h.table.from, w.names.row), part(h.rows.from, w.names.atRow))
	}
	return out
}
