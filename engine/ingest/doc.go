// Package ingest stages the rows of a request body: JSON, NDJSON, CSV and Arrow
// streams become one Parquet file whose columns are exactly a table's, written
// in batches, whatever the length of the body.
//
// The package knows types and texts, not rules: whether a row may be NULL, holds
// a key twice or may be written at all is decided over the staged file. It runs
// no SQL. Parquet files of users are kept as they are ([Spool]) and cast by a
// sandboxed engine ([ParquetSelect]): no decoder of ours meets their pages.
//
// Invariants:
//   - Row i of the body is row i of the staged file.
//   - A value is staged as it was sent, or it is a [Problem]: nothing is rounded,
//     cut or guessed. The one exception is what FLOAT and DOUBLE mean: the
//     nearest number.
//   - After an error the directory holds nothing of the call.
//   - Memory follows from the limits, not from the body. A body cannot make the
//     process panic, hang or allocate by what it merely claims.
package ingest
