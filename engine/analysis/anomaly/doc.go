// Package anomaly finds cells of a table that are probably wrong: numbers far from all
// others or from those of their group, texts of another form, categories that are new, and
// cells that break a relation which nearly all rows keep.
//
// A detector is a condition that is counted over all rows. Where a condition is about several
// columns, the relations that a row keeps and breaks decide which cell is blamed.
//
// What may not go in here: knowledge about certain tables or names of columns.
//
// Invariants:
//   - A finding needs strong evidence: a detector that would report many rows reports none.
//   - A cell is reported once, with the strongest reason.
//   - What is held in memory is bounded by [maxFlagged] rows and the sample.
package anomaly
