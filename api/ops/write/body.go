package write

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/api/ops/memo"
	"github.com/lakewarden/lakewarden/api/ops/revocation"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/dml"
	"github.com/lakewarden/lakewarden/engine/ingest"
	"github.com/lakewarden/lakewarden/engine/ingest/contentcoding"
	"github.com/lakewarden/lakewarden/engine/ingest/csvbody"
	"github.com/lakewarden/lakewarden/engine/ingest/parquetbody"
	"github.com/lakewarden/lakewarden/engine/ingest/staging"
	"github.com/lakewarden/lakewarden/engine/sqltype"
	"github.com/lakewarden/lakewarden/sessions"
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

// stageParquet has an engine read the file that can read nothing else.
func (w *writing) stageParquet(ctx context.Context, body io.Reader, columns []engine.Column, limits staging.Limits) (staged, error) {
	spooled, err := parquetbody.Spool(ctx, body, w.scratch, limits)
	if err != nil {
		return staged{}, err
	}
	held, options, err := w.sessionFor(ctx, sessions.Key{Org: string(w.actor.Org), User: string(w.actor.User)})
	if err != nil {
		return staged{}, err
	}
	defer releaseAsync(held)
	file := filepath.Join(w.scratch, spooled.File)
	have, counts, err := w.answers(ctx, options, parquetbody.Description(file))
	if err == nil && len(counts) != 1 {
		err = errors.New("the engine describes no file")
	}
	if err != nil {
		return staged{}, unreadable(err)
	}
	if limits.Rows > 0 && counts[0][0] > limits.Rows { // a small file can have any number of rows
		return staged{}, &staging.LimitError{What: staging.LimitedRows, Limit: limits.Rows}
	}
	have = have[2:]
	var nanos [][]int64
	if slices.ContainsFunc(have, func(c engine.Column) bool { return sqltype.Contains(c.Type, isTimestamp) }) {
		if _, nanos, err = w.answers(ctx, options, parquetbody.Nanos(file)); err != nil {
			return staged{}, unreadable(err)
		}
	}
	spool := parquetbody.Body{Path: file, Bytes: spooled.Bytes, Columns: have, Rows: counts[0][0], Groups: counts[0][1]}
	relation, serial := spool.Relation(options.Lease)
	query, err := parquetbody.Select(relation, parquetbody.Position, have, slices.Concat(nanos...), columns)
	if err != nil {
		return staged{}, err
	}
	if query.Check != "" {
		if err := w.checkParquet(ctx, options, query, columns); err != nil {
			return staged{}, err
		}
	}
	layout := engine.ScratchLayout()
	layout.Ordered = !serial // rows are identified by their order, which one thread preserves anyway
	files, err := options.Session.Write(ctx, engine.WriteStatement{
		Statement: engine.Statement{SQL: query.Select, Lease: options.Lease}, Dir: "body", Layout: layout,
	})
	if err != nil {
		return staged{}, unreadable(err)
	}
	out := staged{Rows: dml.Rows{Columns: columns}, firsts: []int64{-1}}
	for _, f := range files {
		out.Rows.File, out.Rows.Count = "body/"+f.Name, out.Rows.Count+f.Rows
	}
	if limits.Rows > 0 && out.Rows.Count > limits.Rows { // the footer states a smaller number
		return staged{}, &staging.LimitError{What: staging.LimitedRows, Limit: limits.Rows}
	}
	named := slices.DeleteFunc(slices.Clone(columns), func(c engine.Column) bool { return !slices.Contains(query.Named, c.Name) })
	out.Rows.Columns, out.Shapes = named, [][]string{query.Named}
	return out, nil
}

func (w *writing) checkParquet(ctx context.Context, options dml.Options, query *parquetbody.Query, columns []engine.Column) error {
	_, rows, err := w.answers(ctx, options, `SELECT "row"::BIGINT, "column"::BIGINT, total::BIGINT FROM (`+query.Check+`)`)
	if err != nil || len(rows) == 0 {
		return unreadable(err)
	}
	problems := &staging.RowsError{Total: rows[0][2]}
	for _, r := range rows {
		problems.Problems = append(problems.Problems, query.Problem(r[0], columns[r[1]]))
	}
	return problems
}

// answers returns the columns of a statement and, if they are BIGINT, its rows.
func (w *writing) answers(ctx context.Context, options dml.Options, sql string) (columns []engine.Column, rows [][]int64, err error) {
	result, err := options.Session.Query(ctx, engine.Statement{SQL: sql, Lease: options.Lease})
	if err != nil {
		return nil, nil, err
	}
	rows, err = engine.Collect(ctx, result, func(r engine.Row) ([]int64, error) {
		cells := make([]int64, 0, r.Batch.NumCols())
		for i, c := range r.Batch.Columns() {
			if _, ok := c.(*array.Int64); ok {
				cells = append(cells, r.Int64(i))
			}
		}
		return cells, nil
	})
	return result.Columns(), rows, err
}

// unreadable returns an staging.SyntaxError if the file, not the engine, is at fault.
func unreadable(err error) error {
	var e *engine.Error
	if errors.As(err, &e) && (e.Kind == engine.KindIO || e.Kind == engine.KindRuntime || e.Kind == engine.KindBind ||
		e.Kind == engine.KindInternal) {
		return errors.Join(&staging.SyntaxError{Format: staging.Parquet, Offset: -1, Text: "the engine cannot read it"}, err)
	}
	return err
}

func isTimestamp(t sqltype.Type) bool {
	switch t {
	case sqltype.Timestamp, sqltype.TimestampTZ, sqltype.TimestampS, sqltype.TimestampMS, sqltype.TimestampNS:
		return true
	}
	return false
}
