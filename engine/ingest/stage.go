package ingest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/lakewarden/lakewarden/engine"
)

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

// Stage reads a body to its end and stages its rows.
//
// Errors are those of errors.go, the context's, those of the body's reader, and
// those of writing the file; the directory then holds nothing of this call. The
// body is read to the end also when rows have problems, so that all are counted.
func Stage(ctx context.Context, body io.Reader, req Request) (*Staged, error) {
	req.Limits = req.Limits.withDefaults()
	in := newMeter(ctx, body, req.Limits.Bytes)
	rows, err := newRows(req.Columns, req.ShapeColumn, req.Dir, req.Limits)
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
	staged.Bytes, staged.Members = in.offset(), members
	return staged, nil
}

// decode reads the rows of a body, and what else it holds.
func decode(in *meter, req Request, rows *rows) (map[string]json.RawMessage, error) {
	switch req.Format {
	case JSON:
		return readEnvelope(in, rows)
	case NDJSON:
		return nil, readLines(in, rows)
	case CSV:
		return nil, readCSV(in, req.CSV, rows)
	case Arrow:
		return nil, readArrow(in, rows)
	}
	return nil, fmt.Errorf("format %q is not staged", req.Format)
}
