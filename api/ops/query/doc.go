// Package query runs statements of callers, and keeps the rows of those that ran as
// operations.
//
// What may not go in it: changes of tables. Statements that other use cases build around
// texts of callers are composed by a [Composer] and run here.
//
// Invariants:
//   - SQL of callers reaches the engine through this package and nowhere else, and only as
//     sqlguard printed it.
//   - A statement ends when its caller loses the right to its rows, and so does the result
//     that was stored.
//   - An error of a statement names nothing that its caller does not see.
package query
