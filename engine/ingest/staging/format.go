package staging

import "encoding/json"

// Format is the format of a body.
type Format string

// The formats of bodies.
const (
	// JSON is an object with a member "rows", a list of objects or arrays.
	JSON Format = "JSON"
	// NDJSON is a sequence of JSON objects or arrays.
	NDJSON Format = "NDJSON"
	// CSV is RFC 4180.
	CSV Format = "CSV"
	// Arrow is the Arrow IPC streaming format.
	Arrow Format = "Arrow stream"
	// Parquet is a Parquet file.
	Parquet Format = "Parquet file"
)

// Limits bound what a body may cost. Zero means the default in brackets.
type Limits struct {
	// Rows is the number of rows (2,147,483,647).
	Rows int64
	// Bytes is the length of the body (no limit).
	Bytes int64
	// RowBytes is the size of one row, as sent and as staged (16 MiB).
	RowBytes int64
	// BatchBytes is the size of one Arrow batch, decompressed, and of all
	// dictionaries together (128 MiB).
	BatchBytes int64
	// StagedBytes is the size of the staged file (no limit).
	StagedBytes int64
	// Depth is how deeply values may be nested (64).
	Depth int
}

// WithDefaults returns l with its zero fields set to their defaults.
func (l Limits) WithDefaults() Limits {
	if l.Rows == 0 {
		l.Rows = 1<<31 - 1
	}
	if l.RowBytes == 0 {
		l.RowBytes = 16 << 20
	}
	if l.BatchBytes == 0 {
		l.BatchBytes = 128 << 20
	}
	if l.Depth == 0 {
		l.Depth = 64
	}
	return l
}

// Staged describes rows that were staged.
type Staged struct {
	// File is the name of the Parquet file in the directory.
	File string
	// Rows is the number of rows.
	Rows int64
	// Bytes is the length of the body.
	Bytes int64
	// Shapes are the different sets of columns that rows name, each in the order of the table.
	// A column that a row does not name is NULL in the file. Without rows there are no shapes,
	// except in formats that name columns once for all rows.
	Shapes [][]string
	// FirstRows are the indexes of the first row of each shape, -1 in formats that name
	// columns once.
	FirstRows []int64
	// Members are the other members of a JSON body, as sent.
	Members map[string]json.RawMessage
}
