package sessions_test

import (
	"context"
	"errors"
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

// TestReadUpload checks that a file is read again, in a process of its own, only if another one
// may have ended its process.
func TestReadUpload(t *testing.T) {
	fatal := func(class string) error { return &engine.Error{Kind: engine.KindFatal, Class: class} }
	lost, crashed := fatal(engine.ClassLost), fatal(engine.ClassCrashed)
	for name, c := range map[string]struct {
		results []error
		want    error
	}{
		"read": {[]error{nil}, nil}, "crashed": {[]error{crashed}, engine.ErrCrashed},
		"lost and read": {[]error{lost, nil}, nil}, "lost and crashed": {[]error{lost, crashed}, engine.ErrCrashed},
		"lost twice": {[]error{lost, lost}, engine.ErrLost}, "another error": {[]error{errors.ErrUnsupported}, errors.ErrUnsupported},
	} {
		t.Run(name, func(t *testing.T) {
			eng := &fakeEngine{}
			p := newPool(t, eng, sessions.Options{MaxRunning: 1})
			tries := 0
			err := p.ReadUpload(context.Background(), sessions.Key{Org: "o", User: "a"}, "/scratch", func(h *sessions.Held) error {
				require.True(t, fake(h).uploads)
				require.Equal(t, tries > 0, fake(h).apart)
				require.Equal(t, "/scratch", fake(h).scratch)
				require.Positive(t, h.Lease.Memory)
				tries++
				return c.results[tries-1]
			})
			require.ErrorIs(t, err, c.want)
			require.Equal(t, len(c.results), tries)
			require.Eventually(t, func() bool { return eng.open.Load() == 0 && p.Stats().Running == 0 }, time.Minute, time.Millisecond)
		})
	}
	ended, cancel := context.WithCancel(context.Background())
	tries := 0
	p := newPool(t, &fakeEngine{}, sessions.Options{})
	err := p.ReadUpload(ended, sessions.Key{Org: "o", User: "a"}, "/scratch", func(*sessions.Held) error {
		tries++
		cancel()
		return lost
	})
	require.ErrorIs(t, err, engine.ErrLost)
	require.Equal(t, 1, tries, "nobody waits for the second try")
}
