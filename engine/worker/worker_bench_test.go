package worker_test

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/duckdb"
	"github.com/lakewarden/lakewarden/engine/enginetest"
)

// each runs f in process and in a worker, for comparison.
func each(b *testing.B, f func(b *testing.B, e engine.Engine)) {
	b.Run("in process", func(b *testing.B) {
		e, err := duckdb.New(context.Background(), duckdb.Options{Extensions: []string{}})
		require.NoError(b, err)
		b.Cleanup(func() { require.NoError(b, e.Close()) })
		f(b, e)
	})
	b.Run("worker", func(b *testing.B) { f(b, newEngine(b, bareOptions())) })
}

// BenchmarkStatement is the cost of a statement that has nothing to do.
func BenchmarkStatement(b *testing.B) {
	each(b, func(b *testing.B, e engine.Engine) {
		s := open(b, e, "a")
		b.ReportAllocs()
		for b.Loop() {
			enginetest.Rows(b, s, engine.Statement{SQL: "SELECT 1"})
		}
	})
}

// BenchmarkArrow streams six million rows of five columns.
func BenchmarkArrow(b *testing.B) {
	each(b, func(b *testing.B, e engine.Engine) {
		s := open(b, e, "a")
		for b.Loop() {
			r, err := s.Query(context.Background(), engine.Statement{
				SQL: `SELECT range AS id, range * 2 AS twice, range::DOUBLE / 3 AS third, 'name ' || range % 100000 AS name,
					TIMESTAMP '2024-01-01' + to_seconds(range) AS at FROM range(6000000)`,
				Lease: engine.Lease{Memory: 256 << 20}})
			require.NoError(b, err)
			rows, bytes := drain(b, r)
			require.EqualValues(b, 6_000_000, rows)
			b.SetBytes(bytes)
		}
	})
}

func drain(b *testing.B, r engine.Result) (rows, bytes int64) {
	b.Helper()
	for {
		batch, err := r.Next(context.Background())
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(b, err)
		rows += batch.NumRows()
		for _, c := range batch.Columns() {
			bytes += int64(c.Data().SizeInBytes())
		}
		batch.Release()
	}
	require.NoError(b, r.Close())
	return rows, bytes
}

// BenchmarkStart is what the first session of an owner waits for.
func BenchmarkStart(b *testing.B) {
	e := newEngine(b, bareOptions())
	for i := 0; b.Loop(); i++ {
		s := open(b, e, string(rune('a'+i)))
		alive(b, s)
		require.NoError(b, s.Close())
	}
}
