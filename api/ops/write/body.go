package write

import (
	"context"
	"encoding/json"
	"io"
	"strings"

	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/api/ops/memo"
	"github.com/lakewarden/lakewarden/api/ops/revocation"
	"github.com/lakewarden/lakewarden/engine/dml"
	"github.com/lakewarden/lakewarden/engine/ingest"
	"github.com/lakewarden/lakewarden/engine/ingest/contentcoding"
	"github.com/lakewarden/lakewarden/engine/ingest/csvbody"
	"github.com/lakewarden/lakewarden/engine/ingest/staging"
)

// Format is what rows are written in.
type Format = staging.Format

// The formats of rows.
const (
	JSON    = staging.JSON
	NDJSON  = staging.NDJSON
	CSV     = staging.CSV
	Arrow   = staging.Arrow
	Parquet = staging.Parquet
)

// CSVOptions select a dialect of CSV.
type CSVOptions = csvbody.Options

// ParseCoding returns the coding that a Content-Encoding names: gzip, zstd or none. The error is
// [contentcoding.ErrUnknown].
func ParseCoding(name string) (contentcoding.Coding, error) { return contentcoding.Parse(name) }

// Body are the rows of a request.
type Body struct {
	Format Format
	CSV    csvbody.Dialect
	// Coding is the compression of Reader.
	Coding contentcoding.Coding
	Reader io.Reader
	// Interrupt, if set, makes a blocked read of Reader fail soon.
	Interrupt func()
}

// staged holds rows of a request in the scratch directory of a write.
type staged struct {
	dml.Rows
	// firsts are the first rows of the shapes, -1 where all rows have one.
	firsts []int64
	// members are the members of a JSON body other than the rows.
	members map[string]json.RawMessage
}

// stage reads the rows of a request. Hidden columns count as missing; masked columns have
// their own type.
func (w *writing) stage(ctx context.Context, body Body) (staged, error) {
	if words := body.CSV.Words(); body.Format == staging.CSV && words != nil {
		memo.Digest(w.asked).Text(words...)
	}
	if body.Interrupt != nil {
		defer revocation.OnEnd(ctx, body.Interrupt)()
	}
	decoded := contentcoding.NewReader(unlessEnded{ctx, body.Reader}, body.Coding)
	defer func() { _ = decoded.Close() }()
	body.Reader = w.asked.body(decoded) // a repeated request may be compressed in another way
	columns := w.table.UnhiddenColumns()
	limits := staging.Limits{StagedBytes: w.StagedBytes, Rows: w.BodyRows}
	if body.Coding != contentcoding.Identity {
		limits.Bytes = w.StagedBytes // a short body can have any length decompressed
	}
	if body.Format == staging.Parquet {
		limits.Bytes = w.StagedBytes
		return w.stageParquet(ctx, body.Reader, columns, limits)
	}
	shape := "lw_" + strings.ReplaceAll(uuid.NewString(), "-", "") + "_shape"
	taken, err := ingest.Stage(ctx, body.Reader, ingest.Request{
		Format: body.Format, CSV: body.CSV, Columns: columns, Dir: w.scratch, ShapeColumn: shape, Limits: limits,
	})
	if err != nil {
		return staged{}, err
	}
	return staged{members: taken.Members, firsts: taken.FirstRows,
		Rows: dml.Rows{File: taken.File, Columns: columns, Count: taken.Rows, ShapeColumn: shape, Shapes: taken.Shapes}}, nil
}
