package duckdb_test

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/enginetest"
)

// benchTable is an engine with a small table.
func benchTable(b *testing.B) (engine.Engine, string, engine.Source) {
	b.Helper()
	root := b.TempDir()
	table := enginetest.NewTable(b, root, "t")
	table.Append(b, 0, 100_000)
	return newEngine(b), root, table.Latest()
}

// BenchmarkFirstQuery is what a new user waits for: instance, extension,
// lock-down, attachment and a point query.
func BenchmarkFirstQuery(b *testing.B) {
	e, root, src := benchTable(b)
	for b.Loop() {
		s, err := e.Open(context.Background(), engine.SessionOptions{Roots: []string{root}})
		require.NoError(b, err)
		enginetest.Rows(b, s, engine.Statement{SQL: "SELECT * FROM " + src.Relation() + " WHERE id = 5", Sources: []engine.Source{src}})
		require.NoError(b, s.Close())
	}
}

// BenchmarkStatement is the cost of a statement that has nothing to do.
func BenchmarkStatement(b *testing.B) {
	e, root, _ := benchTable(b)
	s, err := e.Open(context.Background(), engine.SessionOptions{Roots: []string{root}})
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		enginetest.Rows(b, s, engine.Statement{SQL: "SELECT 1"})
	}
}

// BenchmarkPointQuery reads one row on a warm session, plain and through a kept
// copy.
func BenchmarkPointQuery(b *testing.B) {
	e, root, src := benchTable(b)
	s, err := e.Open(context.Background(), engine.SessionOptions{Roots: []string{root}})
	require.NoError(b, err)
	filter := engine.Barrier{SQL: "SELECT id FROM " + src.Relation() + " WHERE id < 1000", Source: src}
	filter.Name = engine.BarrierName(src, filter.SQL)
	for name, st := range map[string]engine.Statement{
		"plain": {SQL: "SELECT * FROM " + src.Relation() + " WHERE id = 5", Sources: []engine.Source{src}},
		"copy":  {SQL: "SELECT * FROM " + filter.Relation() + " WHERE id = 5", Barriers: []engine.Barrier{filter}},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				require.Len(b, enginetest.Rows(b, s, st), 1)
			}
		})
	}
}

// BenchmarkManyFiles is the first statement of a session over a list of 1000 small files, whose
// types an earlier session has checked or not, and a later statement.
func BenchmarkManyFiles(b *testing.B) {
	root := b.TempDir()
	table := enginetest.NewTable(b, root, "t")
	for i := range 1000 {
		table.Append(b, int64(i)*1000, int64(i+1)*1000)
	}
	src := table.Listed()
	st := engine.Statement{SQL: "SELECT sum(id), max(name) FROM " + src.Relation(), Sources: []engine.Source{src}}
	open := func(b *testing.B, e engine.Engine) engine.Session {
		s, err := e.Open(context.Background(), engine.SessionOptions{Roots: []string{root}})
		require.NoError(b, err)
		require.NoError(b, s.Warm(context.Background()))
		return s
	}
	first := func(b *testing.B, e func() engine.Engine) {
		for b.Loop() {
			b.StopTimer()
			s := open(b, e())
			b.StartTimer()
			enginetest.Rows(b, s, st)
			b.StopTimer()
			require.NoError(b, s.Close())
			b.StartTimer()
		}
	}
	b.Run("unknown", func(b *testing.B) { first(b, func() engine.Engine { return newEngine(b) }) })
	b.Run("checked", func(b *testing.B) {
		e := newEngine(b)
		enginetest.Rows(b, open(b, e), st)
		first(b, func() engine.Engine { return e })
	})
	b.Run("warm", func(b *testing.B) {
		s := open(b, newEngine(b))
		enginetest.Rows(b, s, st)
		for b.Loop() {
			enginetest.Rows(b, s, st)
		}
	})
}

// BenchmarkArrow streams six million rows of five columns.
func BenchmarkArrow(b *testing.B) {
	e, root, _ := benchTable(b)
	s, err := e.Open(context.Background(), engine.SessionOptions{Roots: []string{root}})
	require.NoError(b, err)
	const rows = 6_000_000
	for b.Loop() {
		r, err := s.Query(context.Background(), engine.Statement{
			SQL: `SELECT range AS id, range * 2 AS twice, range::DOUBLE / 3 AS third, 'name ' || range % 100000 AS name,
				TIMESTAMP '2024-01-01' + to_seconds(range) AS at FROM range(6000000)`,
			Lease: engine.Lease{Memory: 256 << 20}})
		require.NoError(b, err)
		var n, bytes int64
		for {
			batch, err := r.Next(context.Background())
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(b, err)
			n += batch.NumRows()
			for _, c := range batch.Columns() {
				bytes += int64(c.Data().SizeInBytes())
			}
			batch.Release()
		}
		require.NoError(b, r.Close())
		require.EqualValues(b, rows, n)
		b.SetBytes(bytes)
	}
}
