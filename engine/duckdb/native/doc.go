// Package native presents DuckDB's C interface as Go values: in-memory databases with one
// connection each, running statements, rows, bound values, column types, errors, and the guard that
// interrupts a statement.
//
// The package does not know what a session may read or how a table is stored.
//
// Invariants:
//   - At most one statement of a text runs.
//   - Text that C would truncate or reject is refused before it is passed on.
//   - Every failure is an [engine.Error] whose class does not depend on DuckDB's wording alone.
//   - The slots of NULLs in batches are zero, because DuckDB leaves values of other rows in them.
package native
