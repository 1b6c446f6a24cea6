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

// ErrResultTooLarge is returned for rows that do not fit under the limit of what
// is kept. Ask for less: 422.
var ErrResultTooLarge = fault.New("result_too_large", "result too large")

// Results keeps the rows of finished queries, as Arrow streams, in a bucket that
// all replicas share. Whose rows they are, and whether they may still be shown,
// is not its question.
type Results struct {
	Bucket objstore.Bucket
	// Temp is the directory in which a result grows until its size is known.
	Temp string
	// MaxBytes is the most that one result may take.
	MaxBytes int64
}

// storedRows says what was kept.
type storedRows struct {
	rows, bytes int64
	truncated   bool
}

// resultName is where the result of an operation lies. It follows from the
// operation alone, so that no result is ever out of reach of its removal.
func resultName(o catalog.Operation) string { return string(o.Org) + "/" + string(o.ID) + ".arrow" }

// Discard removes what an operation keeps. Idempotent.
func (s Results) Discard(ctx context.Context, o catalog.Operation) error {
	return s.Bucket.Delete(ctx, resultName(o))
}

// columnsKey is the member of the stream's metadata with the SQL columns.
const columnsKey = "lakewarden.columns"

// keep reads rows to their end, or to a limit, and keeps them, as far as there is
// room. limitRows and limitBytes cut; zero means no limit. progress hears of the
// rows so far.
func (s Results) keep(
	ctx context.Context, o catalog.Operation, rows engine.Result, room *room, limitRows, limitBytes int64, progress func(int64),
) (kept storedRows, err error) {
	file, err := os.CreateTemp(s.Temp, "result-*")
	if err != nil {
		return kept, err
	}
	defer func() { _ = file.Close() }()
	// The name goes at once: whatever happens, nothing is left behind.
	if err := os.Remove(file.Name()); err != nil {
		return kept, err
	}
	out := &roomyWriter{dst: file, room: room}
	columns, err := json.Marshal(rows.Columns())
	if err != nil {
		return kept, err
	}
	metadata := arrow.NewMetadata([]string{columnsKey}, []string{string(columns)})
	stream := ipc.NewWriter(out, ipc.WithSchema(arrow.NewSchema(rows.Schema().Fields(), &metadata)), ipc.WithLZ4())
	for !kept.truncated {
		batch, err := rows.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return kept, err
		}
		if want := limitRows - kept.rows; limitRows > 0 && batch.NumRows() > want {
			cut := batch.NewSlice(0, want)
			batch.Release()
			batch, kept.truncated = cut, true
		}
		if limitBytes > 0 && out.written >= limitBytes {
			kept.truncated = true
		} else {
			err = stream.Write(batch)
			kept.rows += batch.NumRows()
		}
		batch.Release()
		if err != nil {
			return kept, errors.Join(out.err, err)
		}
		progress(kept.rows)
	}
	if err := stream.Close(); err != nil {
		return kept, errors.Join(out.err, err)
	}
	kept.bytes = out.written
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return kept, err
	}
	return kept, s.put(ctx, resultName(o), file, kept.bytes)
}

// put keeps a finished stream. Whether one landed whose reply was lost matters to
// nobody: its operation has failed, and goes together with it.
func (s Results) put(ctx context.Context, name string, body io.Reader, size int64) error {
	err := s.Bucket.Put(ctx, name, body, size)
	if errors.Is(err, objstore.ErrUnknown) {
		return fmt.Errorf("keep result: %w: %v", objstore.ErrUnavailable, err)
	}
	return err
}

// open reads a result back; wantRows is how many it must have.
func (s Results) open(ctx context.Context, o catalog.Operation, wantRows int64) (*keptRows, error) {
	body, err := s.Bucket.Get(ctx, resultName(o))
	if errors.Is(err, objstore.ErrNotFound) {
		return nil, catalog.ErrNotFound // removed a moment ago
	}
	if err != nil {
		return nil, err
	}
	stream, err := ipc.NewReader(body)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read kept result: %w", err), body.Close())
	}
	r := &keptRows{body: body, stream: stream, missing: wantRows}
	metadata := stream.Schema().Metadata()
	if i := metadata.FindKey(columnsKey); i >= 0 {
		err = json.Unmarshal([]byte(metadata.Values()[i]), &r.columns)
	}
	if err != nil || len(r.columns) != stream.Schema().NumFields() {
		return nil, errors.Join(errors.New("kept result without its columns"), err, r.Close())
	}
	// What only we need does not travel on.
	r.schema = arrow.NewSchema(stream.Schema().Fields(), nil)
	return r, nil
}

// keptRows streams a kept result.
type keptRows struct {
	body    io.Closer
	stream  *ipc.Reader
	schema  *arrow.Schema
	columns []engine.Column
	missing int64 // rows that have not come yet
	closed  bool
}

var _ engine.Result = (*keptRows)(nil)

// Schema implements engine.Result.
func (r *keptRows) Schema() *arrow.Schema { return r.schema }

// Columns implements engine.Result.
func (r *keptRows) Columns() []engine.Column { return r.columns }

// Next implements engine.Result. A stream that ends before its last row is an
// error, never an end.
func (r *keptRows) Next(ctx context.Context) (arrow.RecordBatch, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if !r.stream.Next() {
		if err := r.stream.Err(); err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("read kept result: %w", err)
		}
		if r.missing != 0 {
			return nil, fmt.Errorf("read kept result: %w", io.ErrUnexpectedEOF)
		}
		return nil, io.EOF
	}
	batch := r.stream.RecordBatch()
	batch.Retain()
	r.missing -= batch.NumRows()
	return batch, nil
}

// Close implements engine.Result.
func (r *keptRows) Close() error {
	if r.closed {
		return nil
	}
	r.closed = true
	r.stream.Release()
	return r.body.Close()
}
