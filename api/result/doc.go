// Package result writes the rows of a statement to a client as JSON, NDJSON, CSV, an
// Arrow stream or a Parquet file, in constant memory.
//
// The package knows Arrow batches and bytes, but not HTTP, SQL or sessions. Either a
// whole result is written, or the failure is reported so that no reader can mistake it
// for the end: see [Write].
package result
