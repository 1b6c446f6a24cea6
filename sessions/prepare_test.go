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

// slowEngine opens a session when the test allows it.
type slowEngine struct {
	fakeEngine
	begun chan struct{}
	let   chan error
}

func newSlowEngine() *slowEngine {
	return &slowEngine{begun: make(chan struct{}, 8), let: make(chan error, 8)}
}

func (e *slowEngine) Open(ctx context.Context, o engine.SessionOptions) (engine.Session, error) {
	e.begun <- struct{}{}
	if err := <-e.let; err != nil {
		return nil, err
	}
	return e.fakeEngine.Open(ctx, o)
}

func slowPool(t *testing.T, eng *slowEngine) *sessions.Pool {
	p := sessions.New(eng, sessions.Options{})
	t.Cleanup(func() {
		close(eng.let) // allow all pending opens
		require.NoError(t, p.Close(context.Background()))
		require.Zero(t, eng.open.Load())
	})
	return p
}

func TestAStatementTakesTheSessionThatWasPreparedForIt(t *testing.T) {
	eng := newSlowEngine()
	p := slowPool(t, eng)
	key := sessions.Key{Org: "o", User: "a", Roots: []string{"/1"}}
	p.Prepare(key)
	<-eng.begun
	p.Prepare(key) // one is being opened
	taken := make(chan *sessions.Held)
	go func() {
		h, err := p.Acquire(context.Background(), key)
		if err != nil {
			t.Error(err)
		}
		taken <- h
	}()
	eng.let <- nil
	h := <-taken
	require.EqualValues(t, 1, eng.opened.Load())
	h.Release()
	p.Prepare(key) // one is warm
	h = acquire(t, p, key)
	h.Release()
	require.EqualValues(t, 1, eng.opened.Load())
	require.Empty(t, eng.begun)
}

func TestAPreparationThatFailsIsTriedAgainByTheStatement(t *testing.T) {
	eng := newSlowEngine()
	p := slowPool(t, eng)
	key := sessions.Key{Org: "o", User: "a"}
	p.Prepare(key)
	<-eng.begun
	eng.let <- errors.New("no")
	eng.let <- nil
	h := acquire(t, p, key)
	h.Release()
	require.EqualValues(t, 1, eng.opened.Load())
}

func TestAWaitForAPreparationEndsWithItsContext(t *testing.T) {
	eng := newSlowEngine()
	p := slowPool(t, eng)
	key := sessions.Key{Org: "o", User: "a"}
	p.Prepare(key)
	<-eng.begun
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	_, err := p.Acquire(ctx, key)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Zero(t, p.Stats().Running, "the turn was given back")
}
