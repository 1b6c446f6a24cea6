// Package ingest stages the rows of a request body: JSON, NDJSON, CSV and Arrow
// streams become one Parquet file whose columns are exactly a table's, written in
// batches, whatever the length of the body.
//
// Each format has a package below this one; staging holds what they share. The
// packages know types and texts, not rules: whether a row may be NULL, holds a key
// twice or may be written at all is decided over the staged file. They run no SQL.
// Parquet bodies are stored as they are (parquetbody) and cast by a sandboxed engine in a
// process that only reads uploads: this process decodes none of their pages.
//
// Invariants:
//   - Row i of the body is row i of the staged file.
//   - A value is staged as it was sent, or it is a problem: nothing is rounded, cut or
//     guessed. The one exception is what FLOAT and DOUBLE mean: the nearest number.
//   - After an error the directory holds nothing of the call.
//   - Memory follows from the limits, not from the body. A body cannot make the
//     process panic, hang or allocate by what it merely claims.
package ingest
