// Package parquetcut takes a stretch of rows out of a Parquet file. What stays is copied
// as it is, by row groups and pages: only the pages at the edges of the stretch are cut,
// in the encoding that they have, and a few more are looked into for statistics. Writing
// a file anew because some neighbouring rows changed costs what these rows cost then.
//
// The layout is that of the Parquet format (parquet.thrift, Encodings.md, PageIndex.md). A
// file that the package does not understand in full is refused with [ErrNotCut]: whoever
// meets it decodes and encodes the file instead. No file is trusted: what it claims is
// held against its length and against limits before memory is taken for it. That no value
// exceeds the bounds which the file itself gives is believed, see [File.Without].
package parquetcut
