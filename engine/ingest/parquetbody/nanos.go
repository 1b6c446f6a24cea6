package parquetbody

import "github.com/lakewarden/lakewarden/engine"

// nanoseconds is what is said of a column whose values cannot be checked: an
// engine reads times with a zone, and those of the type INT96, as microseconds.
const nanoseconds = "has nanoseconds; write it with microseconds"

// Nanos writes SQL that finds the columns of a file, as a path of the
// engine, in which times have nanoseconds that are cut before any SQL sees them:
// "column" (BIGINT), the number of the column in the file. Times without zone are
// none of them, but for INT96: these keep their nanoseconds.
//
// The file's schema is a list of nodes, each before its children. A node uses up
// one of the places that are open and opens one for each child, so the count of
// open places falls below what it ever was at the last node of each column.
func Nanos(path string) string {
	return `SELECT DISTINCT "column"::BIGINT AS "column" FROM (` +
		`SELECT *, -coalesce(min(open) OVER (ORDER BY node ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS "column" FROM (` +
		`SELECT *, sum(children - 1) OVER (ORDER BY node) AS open FROM (` +
		`SELECT row_number() OVER () AS node, coalesce(num_children, 0)::BIGINT AS children, type, logical_type FROM parquet_schema(` +
		engine.QuoteString(path) + `)) WHERE node > 1))` +
		` WHERE type = 'INT96' OR logical_type LIKE 'TimestampType(isAdjustedToUTC=1,%NANOS=NanoSeconds%'`
}
