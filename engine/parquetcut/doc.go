// Package parquetcut takes a stretch of rows out of a Parquet file. What stays is
// not decoded: row groups and pages are copied as they are, and only the pages at the
// edges of the stretch are cut, in the encoding that they have. Writing a file anew
// because some neighbouring rows changed costs what these rows cost then.
//
// The layout is that of the Parquet format (parquet.thrift, Encodings.md). A file that
// the package does not understand in full is refused with [ErrNotCut]: whoever meets
// it decodes and encodes the file instead. What it says of the values of its pages is
// believed, as every reader does that leaves pages out. No file is trusted: what it claims is held
// against its length and against limits before memory is taken for it.
package parquetcut
