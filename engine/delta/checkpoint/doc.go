// Package checkpoint reads and writes the files that replace all actions up to a
// version: Parquet checkpoints, sidecars, and the hint `_last_checkpoint`.
//
// It converts files to actions and actions to files. The caller selects the files to
// read, the actions to write and the time to write them. The package does not access a
// store. It knows only those columns of the table that the caller wants in typed form.
//
// Invariants:
//   - A column that a file lacks reads as null, so checkpoints of older and newer
//     writers are readable.
//   - A damaged file is an error, never a panic and never a shorter list of actions.
package checkpoint
