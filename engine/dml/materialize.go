package dml

import (
	"math/rand/v2"
	"strconv"

	"github.com/lakewarden/lakewarden/engine"
)

// materializedRowGroup is the number of rows in a row group of materialized rows.
// Each thread buffers one row group before encoding it, in addition to the
// materialized rows.
const materializedRowGroup = 30 * 2048

// materializes reports whether the remaining rows of the files are read completely
// before they are written. Otherwise the thread that reads a row group also encodes
// it, and encoding takes most of the time. Materialized rows are encoded by all
// threads, but need memory, so this is done for few and small files only.
func (w *write) materializes(a affected) bool {
	var size int64
	for _, f := range a.files {
		size += f.Add.Size
	}
	n := len(a.files)
	return !w.KeepOrder && w.Lease.Threads > 1 && n > 0 && n < 2*w.Lease.Threads && size <= w.Lease.Memory/2/engine.Expansion
}

// remainingQueries returns queries for the remaining rows of the affected files, to
// be read in any order. If there are fewer files than threads, the rows of each
// file are split among several queries so that threads share a row group. The split
// points are random: with fixed ones, a caller from whom a later policy hides rows
// could compute the number of these rows.
func (w *write) remainingQueries(a affected) []string {
	items := columnList("o", w.Columns) + w.movedIDItems("o")
	n, rows := w.Lease.Threads/max(len(a.files), 1), int64(0)
	for _, f := range a.files {
		if stats, err := f.Stats(); err == nil && stats.NumRecords != nil {
			rows = max(rows, *stats.NumRecords)
		}
	}
	if n < 2 || rows == 0 || !w.materializes(a) {
		return []string{w.exceptRows(items, a.table.from, a.rows.from)}
	}
	out := make([]string, n)
	to := int64(0)
	for i := range out {
		// The last part has no end, because the log's count of rows may be too low.
		from := to
		to = rows/int64(n)*int64(i+1) + rand.N(rows/int64(2*n)+1) - rows/int64(4*n)
		part := func(relation, row string) string {
			condition := engine.QuoteIdent(row) + " >= " + strconv.FormatInt(from, 10)
			if i < n-1 {
				condition += " AND " + engine.QuoteIdent(row) + " < " + strconv.FormatInt(to, 10)
			}
			return "(SELECT * FROM " + relation + " WHERE " + condition + ")"
		}
		out[i] = w.exceptRows(items, part(a.table.from, w.names.row), part(a.rows.from, w.names.atRow))
	}
	return out
}
