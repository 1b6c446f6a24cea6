// Package relation finds relations between the columns of a table: dependencies, sums,
// clock times, orders, parts of dates, and columns that are NULL together. It searches in a
// sample of the rows, which it reads into memory once; what it finds are candidates, which
// the caller counts over all rows.
//
// What may not go in it: which relations matter, and what follows from a violation.
//
// Invariants:
//   - A sample is chosen by the values of the rows, not by their place. Equal rows lead to
//     equal samples.
//   - A sample holds at most maxCells values.
//   - A column that is masked takes part like any other, with what the caller sees.
package relation
