// Package delta reads and writes the log of a Delta table: which files make up
// a version, and how the next version comes to be.
//
// A [Snapshot] is one version, immutable and safe to share. A [Txn] starts from
// a snapshot and ends in [Txn.Commit], which writes the next version by
// put-if-absent or says why it may not. Conflict rules are pure functions over
// what a transaction read, what it writes and what won (conflict.go). Features
// of the protocol are honoured or refused by name (features.go).
//
// Files of a table use the names and ids of [Snapshot.FileColumns]; callers else
// speak the schema's names, and column mapping stays in here. Rows may go by a
// rewrite of their file or by [Txn.DeleteRows], which hides them behind deletion
// vectors. An [Alteration] turns changes of schema, properties and constraints
// into one metadata, and [Snapshot.Restore] the difference of two versions into
// one transaction. What a table demands of new rows ([Duty]) binds the commits
// that bring some, not those that only take rows away or move them.
//
// Tables of every feature, and of damaged logs, are in cmd/interop/testdata/conformance.
//
// What may not go in: SQL, DuckDB, HTTP, and the content of data files. The
// package stands on an [objstore.Bucket] whose root is the table's folder.
//
// Invariants:
//   - A version is written once, whole, and never overwritten.
//   - No file outside the table's folder is ever named by a readable snapshot.
//   - A commit whose outcome is unknown is looked up by its id before anything
//     else is done about it.
//   - What follows a commit (checksum, checkpoint, cleanup) cannot undo it: it
//     fails into [Options.Warn].
//   - No file of the log is deleted that a complete and readable checkpoint,
//     older than the table's retention, does not cover.
//   - A damaged checkpoint never changes what a version holds: the commits take its
//     place, or the version is refused with a [RefusalError].
package delta
