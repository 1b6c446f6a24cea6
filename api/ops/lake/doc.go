// Package lake opens the logs of tables and caches their newest snapshots for all callers.
//
// What may not go in it: who may see a table. Use cases open tables through package
// access; only access, maintain, admin and storage import this package.
//
// Invariants:
//   - Nobody else calls delta.Load, or holds an [Opener].
//   - A snapshot of a local table is never older than the call that returns it.
package lake
