package duckdb_test

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
)

// BenchmarkWarmStatement is what a small statement costs on a session that is
// open already, with and without giving memory back after it.
func BenchmarkWarmStatement(b *testing.B) {
	for name, idle := range map[string]bool{"statement": false, "statement and idle": true} {
		b.Run(name, func(b *testing.B) {
			ctx := context.Background()
			s, err := newEngine(b).Open(ctx, engine.SessionOptions{Roots: []string{b.TempDir()}})
			require.NoError(b, err)
			defer func() { require.NoError(b, s.Close()) }()
			lease := engine.Lease{Memory: 1 << 30, Threads: 2}
			for b.Loop() {
				res, err := s.Query(ctx, engine.Statement{SQL: "SELECT 1", Lease: lease})
				require.NoError(b, err)
				for {
					batch, err := res.Next(ctx)
					if errors.Is(err, io.EOF) {
						break
					}
					require.NoError(b, err)
					batch.Release()
				}
				require.NoError(b, res.Close())
				if idle {
					require.NoError(b, s.Idle(ctx, 0))
				}
			}
		})
	}
}
