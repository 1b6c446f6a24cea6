// Package mapping proposes, for the columns of a file that is to be imported, the columns
// of the table that take their values.
//
// What may not go in here: the reading of files, which package ingest does.
package mapping
