package dml

import (
	"math/rand/v2"
	"strconv"

	"github.com/lakewarden/lakewarden/engine"
)

// gatheredGroup is the number of rows of a row group that is made of gathered rows. Each
// thread collects one before it encodes it, in addition to what is gathered.
const gatheredGroup = 30 * 2048

// gathers reports whether the remaining rows of files are gathered before they are
// written. One thread reads what other writers put into one row group, and encodes it
// too, which takes most of the time; gathered rows are encoded by all threads. That
// needs memory, so it is done for few files, and those small.
func (w *write) gathers(h hit) bool {
	var size int64
	for _, f := range h.files {
		size += f.Add.Size
	}
	n := len(h.files)
	return !w.KeepOrder && w.Lease.Threads > 1 && n > 0 && n < 2*w.Lease.Threads && size <= w.Lease.Memory/2/engine.Expansion
}

// pieces returns queries for the remaining rows of the files that are hit. If there are
// fewer files than threads, they are split by row, so that threads share a row group. The
// pieces end up in any order. The places of the splits are random: a policy that is added
// later may hide rows whose number must not be revealed.
func (w *write) pieces(h hit) []string {
	items := columnList("o", w.Columns) + w.copied("o")
	n, rows := w.Lease.Threads/max(len(h.files), 1), int64(0)
	for _, f := range h.files {
		if stats, err := f.Stats(); err == nil && stats.NumRecords != nil {
			rows = max(rows, *stats.NumRecords)
		}
	}
	if n < 2 || rows == 0 || !w.gathers(h) {
		return []string{w.left(items, h.table.from, h.rows.from)}
	}
	out := make([]string, n)
	to := int64(0)
	for i := range out {
		// The last piece has no end, because the log's count of rows may be too low.
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
