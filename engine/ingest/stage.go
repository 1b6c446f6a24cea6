package ingest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/ingest/arrowbody"
	"github.com/lakewarden/lakewarden/engine/ingest/csvbody"
	"github.com/lakewarden/lakewarden/engine/ingest/jsonbody"
	"github.com/lakewarden/lakewarden/engine/ingest/staging"
)

// Request describes what to stage, and for which columns.
type Request struct {
	Format staging.Format
	// CSV is the dialect of a CSV body.
	CSV csvbody.Dialect
	// Columns are the columns that the body may name, with DuckDB's types, in the order of
	// rows that are arrays and of CSV without header.
	Columns []engine.Column
	// Dir is the directory of the staged file.
	Dir string
	// ShapeColumn names one more column (INTEGER) of the staged file: the number of the shape
	// in [staging.Staged] that a row has. Empty means none. No column has this name.
	ShapeColumn string
	Limits      staging.Limits
}

// Stage reads a body to its end and stages its rows.
//
// Errors are those of package staging, of the context, of the body and of writing the file;
// the directory then holds nothing of this call. The body is read to the end even if rows have
// problems, so that all are counted.
func Stage(ctx context.Context, body io.Reader, req Request) (*staging.Staged, error) {
	req.Limits = req.Limits.WithDefaults()
	in := staging.NewMeter(ctx, body, req.Limits.Bytes)
	rows, err := staging.NewRows(req.Columns, req.ShapeColumn, req.Dir, req.Limits)
	if err != nil {
		return nil, err
	}
	defer rows.Discard()
	members, err := decode(in, req, rows)
	if err != nil {
		return nil, in.Cut(err, req.Format)
	}
	staged, err := rows.Finish()
	if err != nil {
		return nil, err
	}
	staged.Bytes, staged.Members = in.Offset(), members
	return staged, nil
}

// decode stages the rows of a body, and returns its other members.
func decode(in *staging.Meter, req Request, rows *staging.Rows) (map[string]json.RawMessage, error) {
	switch req.Format {
	case staging.JSON:
		return jsonbody.ReadEnvelope(in, rows)
	case staging.NDJSON:
		return nil, jsonbody.ReadLines(in, rows)
	case staging.CSV:
		return nil, csvbody.Read(in, req.CSV, rows)
	case staging.Arrow:
		return nil, arrowbody.Read(in, rows)
	}
	return nil, fmt.Errorf("format %q is not staged", req.Format)
}
