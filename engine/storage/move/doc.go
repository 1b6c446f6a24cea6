// Package move moves all objects below one root of a store to another root, which may be in another
// store, without losing a row of a Delta table.
//
// A [Job] knows buckets, names and the layout of Delta logs. Registrations, leases, SQL and HTTP do
// not belong here: the caller decides when a step begins, and keeps its own writers away from both
// roots while a job runs. Other engines may write at any time.
//
// The steps are [Job.Copy], [Job.Changed] and [Job.Delete], or [Job.Discard] instead of the last.
// Each can be interrupted at any point and run again, by another process too.
//
// Invariants:
//   - An object of the source is deleted only if the target has it, and an object of the
//     target only if the source has the same content.
//   - Copies create objects. A commit at the target is never replaced. Another object is
//     replaced only if it is the hint of a log, a damaged copy, empty, or older than the
//     source's.
//   - The target has the whole content of every object before the source loses one.
//   - While the source is deleted, its tables are readable in their newest version or not at
//     all, never in an older one.
//   - Memory depends on the number of logs, not on that of objects: both roots are listed in
//     byte order and merged.
package move
