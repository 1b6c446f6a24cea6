// Package deletion has this replica drop what it has cached of files of tables that were deleted,
// here or on another replica.
//
// What may not go in it: what is cached, and how it is dropped. The owner of each cache adds it as
// a [Place].
//
// Invariants:
//   - A deletion is recorded in the catalog after the files are gone, before the operation that
//     deleted them returns, also if it failed half-way. A deletion whose process has ended is
//     recorded when its lease is lost, or by the replica that repeats it.
//   - A replica confirms an epoch only after all places have dropped what was deleted up to it. A
//     replica that was away therefore serves nothing before.
package deletion
