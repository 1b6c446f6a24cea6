package engine

import "context"

// Writer is what a session with a scratch directory (see [SessionOptions]) can do
// beside answering statements. Such a session serves one use case of ours, under
// the rules of [Session]; no statement of a user runs in it.
type Writer interface {
	// Write runs the statement and writes its rows to new Parquet files below the
	// scratch directory. Each file has rows: a statement without any makes no file.
	// After an error no file of this
	// call is left there. Cancelling ctx interrupts it. Errors are of type *[Error].
	Write(ctx context.Context, st WriteStatement) ([]DataFile, error)
}

// WriteStatement is a SELECT of ours whose rows become files.
type WriteStatement struct {
	Statement
	// Dir is a folder below the scratch directory, with slashes; empty is the
	// scratch directory itself. It is made when it is missing.
	Dir string
	// Layout says how rows become files.
	Layout FileLayout
}

// FileLayout says how rows become Parquet files.
type FileLayout struct {
	// PartitionBy are columns of the query; each combination of their values
	// gets files of its own, in which the columns are left out. Values never
	// become part of a name.
	PartitionBy []string
	// FileBytes is where a file ends and the next one begins, roughly; zero
	// means one file for each partition.
	FileBytes int64
	// RowGroupRows is the number of rows of a row group; zero means the engine's
	// default.
	RowGroupRows int64
	// Codec compresses pages: "zstd" (also for ""), "snappy", "gzip", "lz4_raw"
	// or "uncompressed".
	Codec string
	// DeltaEncoding writes whole numbers, dates, times and texts that repeat little
	// in the delta encodings of Parquet: smaller, and quicker to write and to read.
	// It is not for floating-point columns: those would get an encoding
	// (BYTE_STREAM_SPLIT) that not every reader of Delta tables has.
	DeltaEncoding bool
	// NoFloats says that no value of the query is a floating-point number or holds
	// one, which spares a look at its columns. Where it is wrong, a -0.0 can become 0.0.
	NoFloats bool
	// FieldIDs are the Parquet field ids of columns, for tables with column
	// mapping; nil writes none.
	FieldIDs []FieldID
	// Ordered keeps the order of rows within and across files.
	Ordered bool
}

// Expansion is by how much rows in memory are larger than in a Parquet file.
const Expansion = 8

// scratchGroup is the number of rows of a row group in the scratch directory. One
// thread reads a group, so that even some ten thousand rows are read by several.
const scratchGroup = 16 * 2048

// ScratchLayout is that of files which the same engine reads again, and soon: quick to
// write and to read.
func ScratchLayout() FileLayout {
	return FileLayout{Codec: "snappy", DeltaEncoding: true, RowGroupRows: scratchGroup}
}

// FieldID is the Parquet field id of one column and of what is nested in it. The
// members of a struct go by their names; lists have a child "element", maps "key"
// and "value". An ID of 0 is none.
type FieldID struct {
	Column string
	ID     int
	// Void reports that the part is NULL, whatever files hold. Writers ignore it.
	Void     bool
	Children []FieldID
}

// DataFile is one file that was written.
type DataFile struct {
	// Name is that of the file in [WriteStatement.Dir].
	Name string
	Rows int64
	// Bytes is the size of the file.
	Bytes int64
	// Partition has the file's value of each partition column as the engine
	// prints it; nil is NULL.
	Partition map[string]*string
	// Columns are the statistics of the leaf columns.
	Columns []ColumnStats
}

// ColumnStats describes one leaf column of a data file. Min and Max are text as
// the engine prints values, nil when unknown.
type ColumnStats struct {
	Path      []string
	Min, Max  *string
	NullCount *int64
	HasNaN    bool
}
