package native

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
	in, err := Open(BaseConfig())
	require.NoError(t, err)
	defer in.Close()
	ctx, cancel := context.WithCancel(t.Context())
	g := NewGuard(ctx, nil, 0, in, nil)
	defer g.End()

	require.NotErrorIs(t, g.InterruptCause(stopped), engine.ErrInterrupted)
	value := &engine.Error{Kind: engine.KindRuntime, Class: "conversion"}
	require.Equal(t, error(value), g.InterruptCause(value))
	cancel()
	require.ErrorIs(t, g.InterruptCause(stopped), engine.ErrInterrupted)
	require.Equal(t, error(value), g.InterruptCause(value), "what came first stays")
}
