// Package anomaly finds cells of a table that are probably wrong: numbers far from all
// others or from those of their group, texts of an unusual form, rare categories, and cells
// that violate a relation which nearly all rows satisfy.
//
// A check is a condition that is counted over all rows. If a condition is about several
// columns, the relations that the row satisfies and violates decide which cell is blamed.
//
// What may not go in it: knowledge about certain tables or names of columns.
//
// Invariants:
//   - A finding needs strong evidence: a check that would report many rows reports none.
//   - A cell is reported once, with the strongest reason.
//   - What is held in memory is bounded by [maxFlagged] rows and the sample.
package anomaly
