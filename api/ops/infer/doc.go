// Package infer decides the columns and the dialect of an uploaded CSV file, before a table
// for it exists.
//
// What may not go in it: creating the table, and loading the file (packages table and
// write).
//
// Invariants:
//   - An upload is stored once, on disk, within the limit of temporary space, and removed
//     with its [Upload].
//   - An engine sees the beginning of the file only, in a session of the caller, and runs
//     generated SQL.
//   - The result depends on the upload and the options alone, never on a table.
package infer
