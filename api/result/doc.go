// Package result writes the rows of a statement to a client: as JSON, NDJSON,
// CSV, an Arrow stream or a Parquet file, in constant memory.
//
// The package knows Arrow batches and bytes. It does not know HTTP, SQL or
// sessions. A result is either written whole, or the failure is reported in a
// way that no reader can mistake for the end: see [Write].
package result
