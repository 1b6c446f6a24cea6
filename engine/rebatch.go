package engine

import (
	"context"
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// batchRows is the length of the batches that [Rebatch] returns.
const batchRows = 2048

// Rebatch returns the rows of r in batches of 2048; only the last batch may have fewer. The
// boundaries of an engine's batches can reveal how many rows it filtered out between them. The
// returned result shows only rows and their order. Its Next never returns an empty batch, and its
// Close closes r.
func Rebatch(r Result) Result { return &rebatched{Result: r} }

// rebatched buffers fewer than batchRows rows between two calls of Next.
type rebatched struct {
	Result
	buffered []arrow.RecordBatch
	rows     int64 // in buffered
	err      error // from the inner result, nil while it has more rows
	closed   bool
}

func (r *rebatched) Next(ctx context.Context) (arrow.RecordBatch, error) {
	for r.rows < batchRows && r.err == nil {
		batch, err := r.Result.Next(ctx)
		if err != nil {
			r.err = err
			break
		}
		r.buffer(batch)
	}
	// After a failure of the inner result, buffered rows are not returned.
	if r.err != nil && (r.rows == 0 || !errors.Is(r.err, io.EOF)) {
		return nil, r.err
	}
	return r.take(min(r.rows, batchRows))
}

func (r *rebatched) buffer(batch arrow.RecordBatch) {
	if batch.NumRows() == 0 {
		batch.Release()
		return
	}
	r.buffered, r.rows = append(r.buffered, batch), r.rows+batch.NumRows()
}

// take returns one batch of the first n buffered rows.
func (r *rebatched) take(n int64) (arrow.RecordBatch, error) {
	parts := r.split(n)
	if len(parts) == 1 {
		return parts[0], nil
	}
	defer releaseAll(parts)
	columns := make([]arrow.Array, parts[0].NumCols())
	defer func() {
		for _, c := range columns {
			if c != nil {
				c.Release()
			}
		}
	}()
	for i := range columns {
		pieces := make([]arrow.Array, len(parts))
		for k, part := range parts {
			pieces[k] = part.Column(i)
		}
		var err error
		if columns[i], err = array.Concatenate(pieces, memory.DefaultAllocator); err != nil {
			return nil, &Error{Kind: KindInternal, Class: "rebatched", Position: -1, Text: err.Error()}
		}
	}
	return array.NewRecordBatch(parts[0].Schema(), columns, n), nil
}

// split removes batches of together n rows from the buffer and returns them.
func (r *rebatched) split(n int64) []arrow.RecordBatch {
	var out []arrow.RecordBatch
	for n > 0 {
		batch := r.buffered[0]
		have := batch.NumRows()
		if have <= n {
			out, r.buffered = append(out, batch), r.buffered[1:]
		} else {
			out = append(out, batch.NewSlice(0, n))
			r.buffered[0] = batch.NewSlice(n, have)
			batch.Release()
			have = n
		}
		n, r.rows = n-have, r.rows-have
	}
	return out
}

func releaseAll(batches []arrow.RecordBatch) {
	for _, b := range batches {
		b.Release()
	}
}

func (r *rebatched) Close() error {
	if !r.closed {
		r.closed = true
		releaseAll(r.buffered)
		r.buffered, r.rows = nil, 0
		if r.err == nil {
			r.err = io.EOF
		}
	}
	return r.Result.Close()
}
