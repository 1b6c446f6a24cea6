package ingest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/lakewarden/lakewarden/engine"
)

// Format is what a body is written in.
type Format string

// The formats that [Stage] reads. Parquet files go to [Spool].
const (
	// JSON is an object with a member "rows", a list of objects or arrays.
	JSON Format = "JSON"
	// NDJSON are JSON objects or arrays, one after the other.
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
	// RowBytes is the size of one row, as it is sent and as it is staged (16 MiB).
	RowBytes int64
	// BatchBytes is the size of one Arrow batch, decompressed, and of all
	// dictionaries together (128 MiB).
	BatchBytes int64
	// StagedBytes is the size of the staged file (no limit).
	StagedBytes int64
	// Depth is how deep values may be nested (64).
	Depth int
}

func (l Limits) withDefaults() Limits {
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

// Request says what to stage, and for which columns.
type Request struct {
	Format Format
	// CSV is the dialect of a CSV body.
	CSV Dialect
	// Columns are those that the body may name, with DuckDB's types, in the order
	// in which rows that are arrays, and CSV without header, have them.
	Columns []engine.Column
	// Dir is where the staged file goes.
	Dir string
	// ShapeColumn names one more column (INTEGER) of the staged file: which of
	// [Staged.Shapes] a row has. Empty means none. No column has this name.
	ShapeColumn string
	Limits      Limits
}

// Staged are rows that were taken.
type Staged struct {
	// File is the name of the Parquet file in the directory.
	File string
	// Rows is the number of rows.
	Rows int64
	// Bytes is the length of the body.
	Bytes int64
	// Shapes are the different sets of columns that rows name, each in the order
	// of the table. A column that a row does not name is NULL in the file. Without
	// rows there is none, except in formats that name columns once for all rows.
	Shapes [][]string
	// FirstRows are the indexes of the first row of each of Shapes; -1 in formats
	// that name columns once.
	FirstRows []int64
	// Members are the other members of a JSON body, as they were sent.
	Members map[string]json.RawMessage
}

// Stage reads a body to its end and stages its rows.
//
// Errors are those of errors.go, the context's, those of the body's reader, and
// those of writing the file; the directory then holds nothing of this call. The
// body is read to the end also when rows have problems, so that all are counted.
func Stage(ctx context.Context, body io.Reader, req Request) (*Staged, error) {
	req.Limits = req.Limits.withDefaults()
	in := &meter{ctx: ctx, r: body, limit: req.Limits.Bytes}
	rows, err := newRows(req)
	if err != nil {
		return nil, err
	}
	defer rows.discard()
	members, err := decode(in, req, rows)
	if err != nil {
		return nil, in.cut(err, req.Format)
	}
	staged, err := rows.finish()
	if err != nil {
		return nil, err
	}
	staged.Bytes, staged.Members = in.read, members
	return staged, nil
}

// decode reads the rows of a body, and what else it holds.
func decode(in *meter, req Request, rows *rows) (map[string]json.RawMessage, error) {
	switch req.Format {
	case JSON:
		return readEnvelope(in, req, rows)
	case NDJSON:
		return nil, readLines(in, req, rows)
	case CSV:
		return nil, readCSV(in, req, rows)
	case Arrow:
		return nil, readArrow(in, req, rows)
	}
	return nil, fmt.Errorf("format %q is not staged", req.Format)
}
