// Package dml changes the rows of a Delta table: insert, update, delete and merge.
// It reads new rows and the positions of existing rows from Parquet files in a
// scratch directory, and writes one commit or none.
//
// A write runs in a service session: an engine session that serves one write, reads
// the table unfiltered and runs only SQL of this package. A caller's conditions and
// expressions are evaluated in the caller's own session beforehand; this package
// receives the resulting positions and values ([Changes]).
//
// A write finds the affected rows and files, checks the new rows against the
// table's constraints (NOT NULL, CHECK, domains, keys) and the writer's row filter, writes
// files to the scratch directory, uploads them under new names, and commits. After
// a conflict, an insert checks its keys again against the files that were added
// meanwhile. Any other change returns the conflict, and the caller plans it again
// from a newer version.
//
// Files follow the table's features: column mapping (names and field ids), deletion
// vectors (rows are marked as deleted instead of being rewritten), the change data
// feed, and row tracking (a row that moves keeps its id and commit version).
//
// What may not go in it: authorization, SQL of users, HTTP, the catalog, cgo.
//
// Invariants:
//   - Every committed row was checked against the version before the commit.
//   - A row that the writer does not see is neither changed nor returned.
//   - Files are uploaded under unique names and deleted after a failure, unless the
//     outcome of the commit is unknown.
//   - File names contain no values of rows.
package dml
