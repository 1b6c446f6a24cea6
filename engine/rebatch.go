package engine

import (
	"context"
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// batchRows is the length of the batches of [Rebatch].
const batchRows = 2048

// Rebatch returns the rows of r in batches of 2048; only the last batch may have fewer.
// The ends of an engine's batches can reveal how many rows it left out in between. The
// returned result shows nothing but rows and their order. Its Next never returns a batch
// without rows, and its Close closes r.
func Rebatch(r Result) Result { return &rebatched{Result: r} }

// rebatched holds fewer than batchRows rows between two calls of Next.
type rebatched struct {
	Result
	kept   []arrow.RecordBatch
	rows   int64 // of kept
	err    error // of the inner result, once there is one
	closed bool
}

func (r *rebatched) Next(ctx context.Context) (arrow.RecordBatch, error) {
	for r.rows < batchRows && r.err == nil {
		batch, err := r.Result.Next(ctx)
		if err != nil {
			r.err = err
			break
		}
		r.keep(batch)
	}
	// Rows before a failure are not returned.
	if r.err != nil && (r.rows == 0 || !errors.Is(r.err, io.EOF)) {
		return nil, r.err
	}
	return r.take(min(r.rows, batchRows))
}

func (r *rebatched) keep(batch arrow.RecordBatch) {
	if batch.NumRows() == 0 {
		batch.Release()
		return
	}
	r.kept, r.rows = append(r.kept, batch), r.rows+batch.NumRows()
}

// take makes one batch of the first n rows.
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

// split takes batches of n rows together out of what is kept.
func (r *rebatched) split(n int64) []arrow.RecordBatch {
	var out []arrow.RecordBatch
	for n > 0 {
		batch := r.kept[0]
		have := batch.NumRows()
		if have <= n {
			out, r.kept = append(out, batch), r.kept[1:]
		} else {
			out = append(out, batch.NewSlice(0, n))
			r.kept[0] = batch.NewSlice(n, have)
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
		releaseAll(r.kept)
		r.kept, r.rows = nil, 0
		if r.err == nil {
			r.err = io.EOF
		}
	}
	return r.Result.Close()
}
