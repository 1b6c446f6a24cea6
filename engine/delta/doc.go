// Package delta reads and writes Delta tables at the level of the transaction log: it
// determines the files of a version and commits the next one.
//
// A [Snapshot] is one version, immutable and safe for concurrent use. A [Txn] starts
// from a snapshot and ends with [Txn.Commit], which writes the next version by
// put-if-absent or returns a conflict. The conflict rules are pure functions of the
// transaction's reads and writes and of the winning commits (conflict.go). Unsupported
// protocol features are refused by name (features.go).
//
// Data files use the names and field ids of [Snapshot.FileColumns]; everywhere else
// callers use logical column names, and column mapping is internal to this package.
// Rows are deleted by rewriting their file or by [Txn.DeleteRows], which writes
// deletion vectors. An [Alteration] combines changes of schema, properties and
// constraints into one metadata action, and [Snapshot.Restore] turns the difference of
// two versions into one transaction. The requirements of a table for new rows ([Duty])
// apply to commits that add rows, not to those that only remove or move them.
//
// cmd/interop/testdata/conformance has tables with every feature and damaged logs.
//
// SQL, DuckDB, HTTP and the contents of data files do not belong here. The package
// depends on an [objstore.Bucket] whose root is the table's folder.
//
// Invariants:
//   - A version is written once, as a whole, and never overwritten.
//   - A readable snapshot never names a file outside the table's folder.
//   - A commit with an unknown outcome is looked up by its id before anything else
//     is done about it.
//   - The steps after a commit (checksum, checkpoint, cleanup) cannot undo it:
//     their failures are reported to [Options.Warn].
//   - A file of the log is deleted only if a complete and readable checkpoint that
//     is older than the table's retention covers it.
//   - A damaged checkpoint never changes the contents of a version: the version is
//     read from the commits instead, or refused with a [RefusalError].
package delta
