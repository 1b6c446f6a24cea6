// Package maintenance keeps a Delta table small and fast to read: [Vacuum] deletes
// files that no version needs, and [Optimize] rewrites many small files into fewer
// larger ones.
//
// What may not go in it: authorization, HTTP, the catalog, and SQL of users. The table
// is an open [delta.Snapshot]; functions in the options report writes under way and
// receive progress.
//
// Invariants:
//   - Vacuum deletes no file that a version within the retention needs, that a
//     write under way may have written, or that belongs to another table below this
//     one's folder, and discards no upload of such a write or table. In doubt it
//     keeps the file.
//   - Vacuum first lists a file, then asks for writes under way, then reads the
//     newest version, and decides by that version. A write that ended before the
//     question is part of it.
//   - Optimize replaces files in one commit that changes no row, or not at all.
//   - Both can be stopped at any time and run again.
package maintenance
