// Package mapping proposes, for the columns of a file that is to be imported, the columns
// of the table that take their values.
//
// What may not go in it: the reading of files, which package ingest does.
//
// Invariants:
//   - Two source columns never map to one column of the table.
//   - A mapping follows from the names, the comments and the values of the columns alone.
package mapping
