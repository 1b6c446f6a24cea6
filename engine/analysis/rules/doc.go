// Package rules suggests rules that the rows of a table satisfy: CHECK constraints, NOT NULL
// and keys.
//
// What may not go in it: which rules a table has already, beyond what the input says, and
// rules about single values, which are domains.
//
// Invariants:
//   - Every suggested expression was executed over all visible rows, and its violations were
//     counted: rows for which it is not TRUE, as when it is enforced.
//   - A rule between columns that would also hold after a shuffle of their values is not
//     suggested.
//   - No rule is about a masked column.
package rules
