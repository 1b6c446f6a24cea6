package sessions_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/sessions"
)

func TestASessionOfItsOwnIsNobodyElses(t *testing.T) {
	eng := &fakeEngine{}
	p := newPool(t, eng, sessions.Options{})
	key := sessions.Key{Org: "o", User: "a", Roots: []string{"/1"}}
	pooled := acquire(t, p, key)
	warm := fake(pooled)
	pooled.Release()

	h, err := p.Open(context.Background(), key, "/scratch")
	require.NoError(t, err)
	own := fake(h)
	require.NotSame(t, warm, own, "a session that others had")
	require.Equal(t, key.Roots, own.roots)
	require.Equal(t, "/scratch", own.scratch)
	require.Positive(t, h.Lease.Memory)
	require.Equal(t, 1, p.Stats().Running)
	require.Equal(t, h.Lease.Memory, p.Stats().HeldBytes)
	h.Release()
	h.Release()
	require.True(t, own.closed.Load())
	require.Zero(t, p.Stats().Running)
	require.Zero(t, p.Stats().HeldBytes)
	pooled = acquire(t, p, key)
	require.Same(t, warm, fake(pooled), "the pool's own sessions stay")
	pooled.Release()
}

func TestASessionOfItsOwnWaitsForItsTurn(t *testing.T) {
	eng := &fakeEngine{}
	p := newPool(t, eng, sessions.Options{MaxRunning: 1, MaxWait: 20 * time.Millisecond})
	key := sessions.Key{Org: "o", User: "a"}
	h, err := p.Open(context.Background(), key, "/scratch")
	require.NoError(t, err)
	_, err = p.Open(context.Background(), key, "/other")
	require.ErrorIs(t, err, sessions.ErrBusy)
	_, err = p.Acquire(context.Background(), key)
	require.ErrorIs(t, err, sessions.ErrBusy)
	h.Release()

	eng.fail = engine.ErrFatal
	_, err = p.Open(context.Background(), key, "/scratch")
	require.ErrorIs(t, err, engine.ErrFatal)
	require.Zero(t, p.Stats(), "what could not be opened holds nothing")
	eng.fail = nil
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = p.Open(ctx, key, "/scratch")
	require.ErrorIs(t, err, context.Canceled)
}

func TestAClosedPoolOpensNothing(t *testing.T) {
	p := sessions.New(&fakeEngine{}, sessions.Options{})
	require.NoError(t, p.Close(context.Background()))
	_, err := p.Open(context.Background(), sessions.Key{Org: "o"}, "/scratch")
	require.ErrorIs(t, err, sessions.ErrClosed)
}
