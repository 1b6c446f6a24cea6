// Package native presents DuckDB's C interface as Go values: in-memory databases with
// one connection each, running statements, rows, bound values, column types, errors,
// and the guard that interrupts a statement.
//
// Nothing in it knows what a session may read or how a table is stored. Invariants:
// no more than the one statement of a text runs; text that C would cut short or reject
// is refused before it gets there; every failure is an [engine.Error] whose class does
// not depend on DuckDB's wording alone; the slots of NULLs in batches are zero, because
// DuckDB leaves values of other rows in them.
package native
