// Package write changes the rows of tables on behalf of callers: all rows of a request or
// none, in one commit. It also holds the rules that new rows must satisfy.
//
// What may not go in it: changes of a table's schema or rules (package table).
//
// Invariants:
//   - Rows are found under the caller's policies, in the caller's session; a service
//     session only runs generated SQL.
//   - A write holds a lease until its commit, so that no vacuum deletes its files.
//   - A request with an idempotency key is committed once.
package write
