package parquetbody

import "github.com/lakewarden/lakewarden/engine"

// nanoseconds is the message for a column whose values cannot be checked: DuckDB reads
// timestamps with a zone, and those of the type INT96, as microseconds.
const nanoseconds = "has nanoseconds; write it with microseconds"

// Nanos returns SQL that finds the columns of a file whose nanoseconds are cut before any SQL
// reads them: "column" (BIGINT), the number of the column in the file. Timestamps without a
// zone keep their nanoseconds and are not among them, except INT96. path is one of the engine.
//
// The file's schema is a list of nodes, each before its children. A node fills one open place
// and opens one for each child, so at the last node of each column the count of open places
// reaches a new minimum.
func Nanos(path string) string {
	return `SELECT DISTINCT "column"::BIGINT AS "column" FROM (` +
		`SELECT *, -coalesce(min(open) OVER (ORDER BY node ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS "column" FROM (` +
		`SELECT *, sum(children - 1) OVER (ORDER BY node) AS open FROM (` +
		`SELECT row_number() OVER () AS node, coalesce(num_children, 0)::BIGINT AS children, type, logical_type FROM parquet_schema(` +
		engine.QuoteString(path) + `)) WHERE node > 1))` +
		` WHERE type = 'INT96' OR logical_type LIKE 'TimestampType(isAdjustedToUTC=1,%NANOS=NanoSeconds%'`
}
