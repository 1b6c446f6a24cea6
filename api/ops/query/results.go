package query

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/objstore"
)

// ErrResultTooLarge: the rows exceed the limit of stored results. Ask for fewer: 422.
var ErrResultTooLarge = fault.New("result_too_large", "result too large")

// Results stores the rows of finished queries, as Arrow streams, in a bucket that all replicas
// share. It does not check whose rows they are, nor whether they may still be shown.
type Results struct {
	Bucket objstore.Bucket
	// Temp is the directory in which a result grows until its size is known.
	Temp string
	// MaxBytes bounds the size of one result.
	MaxBytes int64
}

// storedRows describes a stored result.
type storedRows struct {
	rows, bytes int64
	truncated   bool
}

// resultName returns the name of an operation's result. It follows from the operation alone,
// so that every result can be removed.
func resultName(o catalog.Operation) string { return string(o.Org) + "/" + string(o.ID) + ".arrow" }

// Discard removes the result of an operation. It is idempotent.
func (s Results) Discard(ctx context.Context, o catalog.Operation) error {
	return s.Bucket.Delete(ctx, resultName(o))
}

// columnsKey is the member of the stream's metadata with the SQL columns.
const columnsKey = "lakewarden.columns"

// keep reads rows to their end, or to a limit, and stores them. limitRows and limitBytes
// cut the rows; zero means no limit. progress is called with the number of rows so far.
// The error is [ErrResultTooLarge] if there is not enough room.
func (s Results) keep(
	ctx context.Context, o catalog.Operation, rows engine.Result, room *room, limitRows, limitBytes int64, progress func(int64),
) (stored storedRows, err error) {
	file, err := os.CreateTemp(s.Temp, "result-*")
	if err != nil {
		return stored, err
	}
	defer func() { _ = file.Close() }()
	// The name is removed at once, so that no file remains whatever happens.
	if err := os.Remove(file.Name()); err != nil {
		return stored, err
	}
	out := &roomyWriter{dst: file, room: room}
	columns, err := json.Marshal(rows.Columns())
	if err != nil {
		return stored, err
	}
	metadata := arrow.NewMetadata([]string{columnsKey}, []string{string(columns)})
	stream := ipc.NewWriter(out, ipc.WithSchema(arrow.NewSchema(rows.Schema().Fields(), &metadata)), ipc.WithLZ4())
	for !stored.truncated {
		batch, err := rows.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return stored, err
		}
		if want := limitRows - stored.rows; limitRows > 0 && batch.NumRows() > want {
			cut := batch.NewSlice(0, want)
			batch.Release()
			batch, stored.truncated = cut, true
		}
		if limitBytes > 0 && out.written >= limitBytes {
			stored.truncated = true
		} else {
			err = stream.Write(batch)
			stored.rows += batch.NumRows()
		}
		batch.Release()
		if err != nil {
			return stored, errors.Join(out.err, err)
		}
		progress(stored.rows)
	}
	if err := stream.Close(); err != nil {
		return stored, errors.Join(out.err, err)
	}
	stored.bytes = out.written
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return stored, err
	}
	return stored, s.put(ctx, resultName(o), file, stored.bytes)
}

// put stores a finished stream. If the outcome is unknown, the operation fails, and its
// removal removes the stream.
func (s Results) put(ctx context.Context, name string, body io.Reader, size int64) error {
	err := s.Bucket.Put(ctx, name, body, size)
	if errors.Is(err, objstore.ErrUnknown) {
		return fmt.Errorf("keep result: %w: %v", objstore.ErrUnavailable, err)
	}
	return err
}

// open opens a stored result, which must have wantRows rows.
func (s Results) open(ctx context.Context, o catalog.Operation, wantRows int64) (*resultReader, error) {
	body, err := s.Bucket.Get(ctx, resultName(o))
	if errors.Is(err, objstore.ErrNotFound) {
		return nil, catalog.ErrNotFound // removed just now
	}
	if err != nil {
		return nil, err
	}
	stream, err := ipc.NewReader(body)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read stored result: %w", err), body.Close())
	}
	r := &resultReader{body: body, stream: stream, missing: wantRows}
	metadata := stream.Schema().Metadata()
	if i := metadata.FindKey(columnsKey); i >= 0 {
		err = json.Unmarshal([]byte(metadata.Values()[i]), &r.columns)
	}
	if err != nil || len(r.columns) != stream.Schema().NumFields() {
		return nil, errors.Join(errors.New("stored result without its columns"), err, r.Close())
	}
	// Our own metadata is not passed on.
	r.schema = arrow.NewSchema(stream.Schema().Fields(), nil)
	return r, nil
}

// resultReader reads a stored result.
type resultReader struct {
	body    io.Closer
	stream  *ipc.Reader
	schema  *arrow.Schema
	columns []engine.Column
	missing int64 // rows that are not read yet
	closed  bool
}

var _ engine.Result = (*resultReader)(nil)

// Schema implements engine.Result.
func (r *resultReader) Schema() *arrow.Schema { return r.schema }

// Columns implements engine.Result.
func (r *resultReader) Columns() []engine.Column { return r.columns }

// Next implements engine.Result. The end of a stream before its last row is an error.
func (r *resultReader) Next(ctx context.Context) (arrow.RecordBatch, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if !r.stream.Next() {
		if err := r.stream.Err(); err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("read stored result: %w", err)
		}
		if r.missing != 0 {
			return nil, fmt.Errorf("read stored result: %w", io.ErrUnexpectedEOF)
		}
		return nil, io.EOF
	}
	batch := r.stream.RecordBatch()
	batch.Retain()
	r.missing -= batch.NumRows()
	return batch, nil
}

// Close implements engine.Result.
func (r *resultReader) Close() error {
	if r.closed {
		return nil
	}
	r.closed = true
	r.stream.Release()
	return r.body.Close()
}
