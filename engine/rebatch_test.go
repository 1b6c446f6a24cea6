package engine_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
)

var numbers = arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64},
	{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true}}, nil)

// inBatches is a result of the numbers from 0 on in batches of given lengths.
type inBatches struct {
	lengths []int
	next    int64
	end     error
	closed  int
}

func (r *inBatches) Schema() *arrow.Schema    { return numbers }
func (r *inBatches) Columns() []engine.Column { return nil }
func (r *inBatches) Close() error             { r.closed++; return nil }

func (r *inBatches) Next(context.Context) (arrow.RecordBatch, error) {
	if len(r.lengths) == 0 {
		return nil, r.end
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, numbers)
	defer b.Release()
	for range r.lengths[0] {
		b.Field(0).(*array.Int64Builder).Append(r.next)
		if r.next%3 == 0 {
			b.Field(1).AppendNull()
		} else {
			b.Field(1).(*array.StringBuilder).Append(string(rune('a' + r.next%26)))
		}
		r.next++
	}
	r.lengths = r.lengths[1:]
	return b.NewRecordBatch(), nil
}

// TestRebatch: however a result is cut, what comes out is cut in one way and has
// the same rows.
func TestRebatch(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 0))
	for range 60 {
		inner := &inBatches{end: io.EOF}
		total := int64(0)
		for range random.IntN(12) {
			n := []int{0, 1, random.IntN(5000), 2048, 2047}[random.IntN(5)]
			inner.lengths, total = append(inner.lengths, n), total+int64(n)
		}
		r := engine.Rebatch(inner)
		seen := int64(0)
		for {
			batch, err := r.Next(t.Context())
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err)
			require.Equal(t, min(total-seen, 2048), batch.NumRows())
			require.True(t, batch.Schema().Equal(numbers))
			for i := range int(batch.NumRows()) {
				require.Equal(t, seen, batch.Column(0).(*array.Int64).Value(i))
				require.Equal(t, seen%3 == 0, batch.Column(1).IsNull(i))
				if seen%3 > 0 {
					require.Equal(t, string(rune('a'+seen%26)), batch.Column(1).(*array.String).Value(i))
				}
				seen++
			}
			batch.Release()
		}
		require.Equal(t, total, seen)
		require.NoError(t, r.Close())
		require.Equal(t, 1, inner.closed)
	}
}

// TestRebatchAfterFailure: rows of an unfinished batch are not shown, and a failed
// result stays one.
func TestRebatchAfterFailure(t *testing.T) {
	failure := &engine.Error{Kind: engine.KindRuntime}
	r := engine.Rebatch(&inBatches{lengths: []int{3000}, end: failure})
	batch, err := r.Next(t.Context())
	require.NoError(t, err)
	batch.Release()
	for range 2 {
		_, err = r.Next(t.Context())
		require.ErrorIs(t, err, error(failure))
	}
	require.NoError(t, r.Close())
	require.NoError(t, r.Close())
	_, err = r.Next(t.Context())
	require.Error(t, err)
}
