// Package checkpoint reads and writes the files that stand for all actions up
// to a version: Parquet checkpoints, sidecars, and the hint `_last_checkpoint`.
//
// It turns files into actions and actions into files. Which file to read, which
// actions survive and when to write belong to the caller. It knows no object
// store, and of the table's schema what the caller wants in a typed form.
//
// Invariants:
//   - A column that a file lacks reads as null, so checkpoints of older and of
//     newer writers both read.
//   - A damaged file is an error, never a panic and never a shorter list.
package checkpoint
