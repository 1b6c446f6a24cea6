// Package datafile puts Parquet files that a session has written into a Delta
// table: it uploads them below the table's folder and describes them for the log.
// It also determines the layout that a table's properties ask for (compression,
// file size), and reads the ids of rows that move to another file.
//
// What may not go in it: which rows are written, commits, and SQL other than that for
// reading row ids. An uploaded file is part of the table once a version names it;
// committing that version is the caller's task.
//
// Invariants:
//   - A file's name is unique and reveals nothing about its rows.
//   - After an error of [Upload] the files of that call are deleted, as far as the
//     store allows. No version names a file that could not be deleted, so a vacuum
//     removes it.
package datafile
