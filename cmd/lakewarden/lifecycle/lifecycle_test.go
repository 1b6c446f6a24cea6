package lifecycle_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/lakewarden/lifecycle"
)

func TestAllPartsCloseInReverseOrder(t *testing.T) {
	var g lifecycle.Group
	var closed []string
	first, second := errors.New("first"), errors.New("second")
	g.OnClose(func(context.Context) error { closed = append(closed, "first"); return first })
	running := make(chan struct{})
	g.Background(t.Context(), func(ctx context.Context) {
		close(running)
		<-ctx.Done()
		closed = append(closed, "background")
	})
	g.OnClose(func(context.Context) error { closed = append(closed, "second"); return second })
	<-running
	err := g.Close(time.Minute)
	require.ErrorIs(t, err, first)
	require.ErrorIs(t, err, second)
	require.Equal(t, []string{"second", "background", "first"}, closed)
}

func TestEveryRunsUntilItsContextEnds(t *testing.T) {
	var g lifecycle.Group
	ctx, stop := context.WithCancel(t.Context())
	runs := 0
	third := make(chan struct{})
	g.Every(ctx, time.Millisecond, func(context.Context) {
		if runs++; runs == 3 {
			stop()
			close(third)
		}
	})
	<-third
	require.NoError(t, g.Close(time.Minute))
	require.Equal(t, 3, runs)
}

func TestRepeatedRunsDoNotOverlap(t *testing.T) {
	var g lifecycle.Group
	running, most := 0, 0 // of one goroutine, or the race detector reports them
	third := make(chan struct{})
	runs := 0
	g.Repeat(t.Context(), time.Millisecond, func(ctx context.Context) {
		running++
		most = max(most, running)
		select { // several ticks
		case <-ctx.Done():
		case <-time.After(5 * time.Millisecond):
		}
		if runs++; runs == 3 {
			close(third)
		}
		running--
	})
	<-third
	require.NoError(t, g.Close(time.Minute))
	require.Equal(t, 1, most)
}

func TestClosingEndsAtItsLimit(t *testing.T) {
	var g lifecycle.Group
	g.OnClose(func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
	require.ErrorIs(t, g.Close(time.Millisecond), context.DeadlineExceeded)
}
