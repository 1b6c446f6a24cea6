package parquetbody

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
)

// Position is the column of [Body.Relation] with the number of a row.
const Position = "file_row_number"

// fileIndex is DuckDB's name for the number of a file among those that are read, unless a file
// has a column of this name.
const fileIndex = "file_index"

// Body describes a spooled file.
type Body struct {
	// Path is the path of the file as the engine reads it, Bytes its length.
	Path  string
	Bytes int64
	// Columns are the columns of the file, as the engine describes them.
	Columns []engine.Column
	// Rows and Groups are the numbers of rows and row groups in its footer, correct or not.
	Rows, Groups int64
}

// Relation returns SQL for the rows of the file in their order. One thread reads a row group
// and writes what it has read. If there are several threads for each group, and enough memory,
// the file is read several times at once, each time for another range of its rows; with a
// wrong footer the ranges are of unequal length. serial reports that one thread reads the
// whole file, and so keeps the order by itself.
func (b Body) Relation(lease engine.Lease) (sql string, serial bool) {
	rows, path := b.Rows, engine.QuoteString(b.Path)
	most := min(int64(lease.Threads)/max(b.Groups, 1), rows/stretchRows, lease.Memory/2/engine.Expansion/max(b.Bytes, 1))
	taken := slices.ContainsFunc(b.Columns, func(c engine.Column) bool { return strings.EqualFold(c.Name, fileIndex) })
	if most < stretches || taken {
		return readParquet(path), b.Groups == 1
	}
	paths := slices.Repeat([]string{path}, stretches)
	var cases strings.Builder
	for i := range int64(stretches - 1) {
		fmt.Fprintf(&cases, " WHEN %d THEN %s >= %d AND %[2]s < %[4]d", i, Position, rows/stretches*i, rows/stretches*(i+1))
	}
	last := Position + " >= " + strconv.FormatInt(rows/stretches*(stretches-1), 10)
	return "(SELECT * FROM " + readParquet("["+strings.Join(paths, ", ")+"]") + " WHERE CASE " + fileIndex + cases.String() +
		" ELSE " + last + " END)", false
}

// Decoding a file takes about a quarter of the time of staging it, so more ranges read more
// than they share. To keep the rows of two ranges in order takes as long as the second thread
// saves, and three times the memory; short ranges do not pay.
const (
	stretches   = 3
	stretchRows = 16 * 2048
)

func readParquet(paths string) string {
	return "read_parquet(" + paths + ", " + Position + "=true, hive_partitioning=false)"
}

// Description returns SQL that describes a spooled file. It has one row: the numbers of rows
// and of row groups in the footer (BIGINT), then the columns of the file.
func Description(path string) string {
	file := engine.QuoteString(path)
	return "SELECT m.num_rows::BIGINT, m.num_row_groups::BIGINT, f.* FROM parquet_file_metadata(" + file +
		") AS m LEFT JOIN (SELECT * EXCLUDE (" +
		Position + ") FROM " + readParquet(file) + " LIMIT 0) AS f ON true"
}
