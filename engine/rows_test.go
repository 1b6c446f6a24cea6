package engine_test

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
)

// batches is a result of batches that ends with err.
type batches struct {
	engine.Result
	left        []arrow.RecordBatch
	err, closes error
	closed      int
}

func (b *batches) Next(context.Context) (arrow.RecordBatch, error) {
	if len(b.left) == 0 {
		return nil, b.err
	}
	batch := b.left[0]
	b.left = b.left[1:]
	return batch, nil
}

func (b *batches) Close() error {
	b.closed++
	return b.closes
}

// numbersAndTexts makes a batch of rows (1, "a"), (NULL, NULL).
func numbersAndTexts(alloc memory.Allocator) arrow.RecordBatch {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true}, {Name: "t", Type: arrow.BinaryTypes.String, Nullable: true},
	}, nil)
	rows := array.NewRecordBuilder(alloc, schema)
	defer rows.Release()
	rows.Field(0).(*array.Int64Builder).Append(1)
	rows.Field(1).(*array.StringBuilder).Append("a")
	rows.Field(0).AppendNull()
	rows.Field(1).AppendNull()
	return rows.NewRecordBatch()
}

func TestCollect(t *testing.T) {
	alloc := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer alloc.AssertSize(t, 0)
	type pair struct {
		n int64
		t string
	}
	read := func(r engine.Row) (pair, error) { return pair{r.Int64(0), r.Text(1)}, nil }
	whole := func() []arrow.RecordBatch { return []arrow.RecordBatch{numbersAndTexts(alloc), numbersAndTexts(alloc)} }
	one := func() []arrow.RecordBatch { return []arrow.RecordBatch{numbersAndTexts(alloc)} }

	result := &batches{left: whole(), err: io.EOF}
	got, err := engine.Collect(t.Context(), result, read)
	require.NoError(t, err)
	require.Equal(t, []pair{{1, "a"}, {}, {1, "a"}, {}}, got)
	require.Equal(t, 1, result.closed)

	failure := errors.New("failed")
	result = &batches{left: whole(), err: failure}
	_, err = engine.Collect(t.Context(), result, read)
	require.Equal(t, failure, err, "as the result gave it")
	require.Equal(t, 1, result.closed)

	result = &batches{left: one(), closes: failure, err: io.EOF}
	_, err = engine.Collect(t.Context(), result, func(engine.Row) (pair, error) { return pair{}, io.ErrUnexpectedEOF })
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.ErrorIs(t, err, failure)

	swapped := func(r engine.Row) (pair, error) { return pair{r.Int64(1), r.Text(0)}, nil }
	got, err = engine.Collect(t.Context(), &batches{left: one(), err: io.EOF}, swapped)
	require.NoError(t, err)
	require.Equal(t, []pair{{}, {}}, got, "columns of other types")
}
