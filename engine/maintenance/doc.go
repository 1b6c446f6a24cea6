// Package maintenance keeps a Delta table small and quick to read: [Vacuum]
// deletes files that no version needs, [Optimize] rewrites many small files as
// few larger ones.
//
// What may not go in: who may ask for it, HTTP, the catalog, and SQL of users.
// The table is an open [delta.Snapshot]; what protects writes under way, and who
// hears of progress, comes in as functions.
//
// Invariants:
//   - No file is deleted that a version within the retention needs, that a write
//     under way may have made, or that belongs to another table below this one,
//     and no upload discarded of such a write or table. What cannot be told is
//     kept.
//   - Whether a file is needed is judged by a version that is read after the file
//     was listed, and after the writes under way were asked for: a write that has
//     ended by then is in that version.
//   - Optimize replaces files in one commit that changes no row, or not at all.
//   - Both can be stopped at any moment and run again.
package maintenance
