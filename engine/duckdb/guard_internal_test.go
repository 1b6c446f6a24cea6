package duckdb

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
)

// TestAnInterruptThatNobodyAskedFor: the engine's own way of stopping threads is
// not taken for a cancelled statement.
func TestAnInterruptThatNobodyAskedFor(t *testing.T) {
	stopped := &engine.Error{Kind: engine.KindInterrupted, Class: "interrupted"}
	in, err := openInstance(baseConfig())
	require.NoError(t, err)
	defer in.close()
	ctx, cancel := context.WithCancel(t.Context())
	g := newGuard(ctx, nil, 0, in, nil)
	defer g.end()

	require.NotErrorIs(t, g.judge(stopped), engine.ErrInterrupted)
	value := &engine.Error{Kind: engine.KindRuntime, Class: "conversion"}
	require.Equal(t, error(value), g.judge(value))
	cancel()
	require.ErrorIs(t, g.judge(stopped), engine.ErrInterrupted)
	require.Equal(t, error(value), g.judge(value), "what came first stays")
}
