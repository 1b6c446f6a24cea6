package parquetbody

import "github.com/lakewarden/lakewarden/engine"

// Altered is a column of a file whose values DuckDB changes before any SQL reads them, so that
// they cannot be checked. Column is its number in the file.
type Altered struct {
	Column int64
	// Wide reports decimals of more than 38 digits, which are read as unrelated floating-point
	// numbers. Otherwise timestamps with a zone, or of the type INT96, lose their nanoseconds.
	Wide bool
}

// message returns the text of a problem with the column.
func (a Altered) message() string {
	if a.Wide {
		return "has decimals of more than 38 digits"
	}
	return "has nanoseconds; write it with microseconds"
}

// AlteredColumns returns SQL that finds the altered columns of a file: "column" (BIGINT) and
// "wide" (BIGINT, 1 or 0). Timestamps without a zone keep their nanoseconds and are not among
// them, except INT96. path is one of the engine.
//
// The file's schema is a list of nodes, each before its children. A node fills one open place
// and opens one for each child, so at the last node of each column the count of open places
// reaches a new minimum.
func AlteredColumns(path string) string {
	return `SELECT DISTINCT "column"::BIGINT AS "column", (coalesce("precision", 0) > 38)::BIGINT AS wide FROM (` +
		`SELECT *, -coalesce(min(open) OVER (ORDER BY node ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS "column" FROM (` +
		`SELECT *, sum(children - 1) OVER (ORDER BY node) AS open FROM (` +
		`SELECT row_number() OVER () AS node, coalesce(num_children, 0)::BIGINT AS children, type, logical_type, "precision"` +
		` FROM parquet_schema(` +
		engine.QuoteString(path) + `)) WHERE node > 1))` +
		` WHERE type = 'INT96' OR logical_type LIKE 'TimestampType(isAdjustedToUTC=1,%NANOS=NanoSeconds%' OR "precision" > 38`
}
