// Package datafile brings Parquet files that a session has written into a Delta
// table: their place below the table's folder, and what the log says of them. It
// also knows what a table asks of new files: their compression, their size, and the
// ids of rows that come from other files.
//
// What may not go in: which rows are written, commits, and SQL but for what reads
// those ids. A file that was uploaded is part of the table when a version names it,
// which is the caller's business.
//
// Invariants:
//   - A name says nothing of the rows and is used once.
//   - After an error of [Upload] no file of that call is left, as far as the store
//     lets it; what is left is no part of the table, and a vacuum removes it.
package datafile
