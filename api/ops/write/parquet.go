package write

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/dml"
	"github.com/lakewarden/lakewarden/engine/ingest/parquetbody"
	"github.com/lakewarden/lakewarden/engine/ingest/staging"
	"github.com/lakewarden/lakewarden/engine/sqltype"
	"github.com/lakewarden/lakewarden/sessions"
)

// uploadDir is the part of a write's scratch directory that an engine reads which reads nothing
// else, and rowsDir the directory in it with the rows that this engine has read.
const (
	uploadDir = "upload"
	rowsDir   = "rows"
)

// stageParquet stores the body as a file. A session that can read nothing else turns the file
// into rows of the table.
func (w *writing) stageParquet(
	ctx context.Context, body io.Reader, columns []engine.Column, limits staging.Limits,
) (out staged, err error) {
	dir := filepath.Join(w.scratch, uploadDir)
	if err := os.Mkdir(dir, 0o750); err != nil {
		return staged{}, err
	}
	spooled, err := parquetbody.Spool(ctx, body, dir, limits)
	if err != nil {
		return staged{}, err
	}
	key := sessions.Key{Org: string(w.actor.Org), User: string(w.actor.User)}
	err = w.Pool.ReadUpload(ctx, key, dir, func(held *sessions.Held) (err error) {
		file := parquetFile{Staged: spooled, path: filepath.Join(dir, spooled.File), held: held}
		out, err = file.rows(ctx, columns, limits)
		return err
	})
	return out, err
}

// parquetFile is a spooled body and the session that reads it.
type parquetFile struct {
	*staging.Staged
	path string
	held *sessions.Held
}

// rows writes the rows of the file as a table with the given columns stores them.
func (f parquetFile) rows(ctx context.Context, columns []engine.Column, limits staging.Limits) (staged, error) {
	writer := f.held.Writer()
	if writer == nil {
		return staged{}, errNoWriter
	}
	have, counts, err := f.answers(ctx, parquetbody.Description(f.path))
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
	altered, err := f.altered(ctx, have)
	if err != nil {
		return staged{}, unreadable(err)
	}
	spool := parquetbody.Body{Path: f.path, Bytes: f.Bytes, Columns: have, Rows: counts[0][0], Groups: counts[0][1]}
	relation, serial := spool.Relation(f.held.Lease)
	query, err := parquetbody.Select(relation, parquetbody.Position, have, altered, columns, limits.WithDefaults().RowBytes)
	if err != nil {
		return staged{}, err
	}
	if query.Check != "" {
		if err := f.check(ctx, query); err != nil {
			return staged{}, err
		}
	}
	layout := engine.ScratchLayout()
	layout.Ordered = !serial // rows are identified by their order, which one thread preserves anyway
	files, err := writer.Write(ctx, engine.WriteStatement{
		Statement: engine.Statement{SQL: query.Select, Lease: f.held.Lease}, Dir: rowsDir, Layout: layout,
	})
	if err != nil {
		return staged{}, unreadable(err)
	}
	out := staged{Rows: dml.Rows{Columns: columns}, firsts: []int64{-1}}
	for _, written := range files {
		out.Rows.File, out.Rows.Count = path.Join(uploadDir, rowsDir, written.Name), out.Rows.Count+written.Rows
	}
	if limits.Rows > 0 && out.Rows.Count > limits.Rows { // the footer states a smaller number
		return staged{}, &staging.LimitError{What: staging.LimitedRows, Limit: limits.Rows}
	}
	named := slices.DeleteFunc(slices.Clone(columns), func(c engine.Column) bool { return !slices.Contains(query.Named, c.Name) })
	out.Rows.Columns, out.Shapes = named, [][]string{query.Named}
	return out, nil
}

// altered returns the columns whose values the engine changes. Only columns that it reads as
// timestamps or floating-point numbers can be among them.
func (f parquetFile) altered(ctx context.Context, have []engine.Column) ([]parquetbody.Altered, error) {
	if !slices.ContainsFunc(have, func(c engine.Column) bool { return sqltype.Contains(c.Type, mayAlter) }) {
		return nil, nil
	}
	_, rows, err := f.answers(ctx, parquetbody.AlteredColumns(f.path))
	altered := make([]parquetbody.Altered, len(rows))
	for i, r := range rows {
		altered[i] = parquetbody.Altered{Column: r[0], Wide: r[1] == 1}
	}
	return altered, err
}

// check returns the values that the table cannot hold as a [*staging.RowsError], or a
// [*staging.LimitError].
func (f parquetFile) check(ctx context.Context, query *parquetbody.Query) error {
	_, rows, err := f.answers(ctx, `SELECT "row"::BIGINT, "column"::BIGINT, reason::BIGINT, total::BIGINT FROM (`+query.Check+`)`)
	if err != nil || len(rows) == 0 {
		return unreadable(err)
	}
	problems := &staging.RowsError{Total: rows[0][3]}
	for _, r := range rows {
		problem, err := query.Problem(r[0], r[1], r[2])
		if err != nil {
			return err
		}
		problems.Problems = append(problems.Problems, problem)
	}
	return problems
}

// answers returns the columns of a statement and, if they are BIGINT, its rows.
func (f parquetFile) answers(ctx context.Context, sql string) (columns []engine.Column, rows [][]int64, err error) {
	result, err := f.held.Query(ctx, engine.Statement{SQL: sql, Lease: f.held.Lease})
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

// unreadable returns a [staging.SyntaxError] with the cause if the file, not the engine, is at
// fault. A file is at fault if its statement ended a process in which nothing else ran.
func unreadable(err error) error {
	var e *engine.Error
	if !errors.As(err, &e) {
		return err
	}
	cause := parquetbody.Cause(e.Text)
	switch {
	case errors.Is(err, engine.ErrCrashed):
		cause = parquetbody.Damaged
	case e.Kind != engine.KindIO && e.Kind != engine.KindRuntime && e.Kind != engine.KindBind && e.Kind != engine.KindInternal:
		return err
	}
	// The engine's error is for the log only: it is not about a file of the table.
	return fmt.Errorf("%w (%v)", &staging.SyntaxError{Format: staging.Parquet, Offset: -1, Text: cause}, err)
}

func mayAlter(t sqltype.Type) bool {
	switch t {
	case sqltype.Timestamp, sqltype.TimestampTZ, sqltype.TimestampS, sqltype.TimestampMS, sqltype.TimestampNS, sqltype.Double:
		return true
	}
	return false
}
