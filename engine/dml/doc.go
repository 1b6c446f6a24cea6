// Package dml changes the rows of a Delta table: insert, update, delete and
// merge. Rows and decisions come in as Parquet files in a scratch directory; what
// goes out is one commit, or nothing.
//
// A write runs in a service session: an engine session of one use, which reads the
// table unfiltered and runs SQL of this package only. Which rows a caller's
// condition means, and what its expressions give for them, is found out in the
// caller's own session; here come only positions and values ([Changes]).
//
// The order of a write: find the rows and files that it is about; judge the new
// rows (package rules: NOT NULL, CHECK, the writer's row filter, keys); write
// files in scratch; upload them under new names; commit. After a lost race an
// insert judges its keys again over the files that won; any other change is planned
// again by the caller, from a newer version.
//
// What a table asks for is done: names and field ids of column mapping; rows that go
// behind deletion vectors, so that only new rows need files; files of changes for a
// feed; ids and commit versions of rows that move, where rows are tracked. A file that
// goes as a whole is removed.
//
// What may not go in: who may write, SQL of users, HTTP, the catalog, cgo.
//
// Invariants:
//   - Nothing is committed that was not judged against the version before it.
//   - A row that the writer does not see is neither changed nor read into a reply.
//   - Files are uploaded under names of their own; a failure takes them away
//     again, unless the outcome of the commit is unknown.
//   - Values never become part of a file's name.
package dml
