package password

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// of returns a source that is alone in its network.
func of(name string) Source { return Source{name, name} }

func TestSourcesTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns(1, 100)
		first, err := turns.wait(t.Context(), of("busy"))
		require.NoError(t, err)
		order := make(chan string, 10)
		queue := func(source string) {
			go func() {
				done, err := turns.wait(context.Background(), of(source))
				require.NoError(t, err)
				order <- source
				done()
			}()
			synctest.Wait()
		}
		for range 4 {
			queue("flood")
		}
		queue("person")
		queue("other")
		first()
		synctest.Wait()
		close(order)
		var got []string
		for source := range order {
			got = append(got, source)
		}
		require.Equal(t, []string{"flood", "person", "other", "flood", "flood", "flood"}, got)
		require.Zero(t, turns.running)
		require.Zero(t, turns.waiting)
	})
}

func TestAFloodDisplacesItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns(1, 3)
		first, err := turns.wait(t.Context(), of("flood"))
		require.NoError(t, err)
		var served, refused atomic.Int64
		for range 10 {
			go func() {
				done, err := turns.wait(context.Background(), of("flood"))
				if err != nil {
					require.ErrorIs(t, err, ErrBusy)
					refused.Add(1)
					return
				}
				served.Add(1)
				done()
			}()
		}
		synctest.Wait()
		require.EqualValues(t, 7, refused.Load())
		reply := make(chan error, 1)
		go func() {
			done, err := turns.wait(context.Background(), of("person"))
			if err == nil {
				done()
			}
			reply <- err
		}()
		synctest.Wait()
		require.EqualValues(t, 8, refused.Load(), "a caller of the flood gives way")
		first()
		require.NoError(t, <-reply)
		synctest.Wait()
		require.EqualValues(t, 2, served.Load())
	})
}

// TestAFloodOfClientsDisplacesItself checks a network with a client for each caller.
func TestAFloodOfClientsDisplacesItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns(1, 8)
		first, err := turns.wait(t.Context(), of("first"))
		require.NoError(t, err)
		var order []string
		replies := make(chan error, 100)
		queue := func(network, client string) {
			go func() {
				done, err := turns.wait(context.Background(), Source{network, client})
				if err == nil {
					order = append(order, client)
					done()
				}
				replies <- err
			}()
			synctest.Wait()
		}
		for i := range 20 {
			queue("flood", strconv.Itoa(i))
		}
		for _, person := range []string{"ada", "bea", "cy"} {
			queue(person, person)
		}
		first()
		synctest.Wait()
		close(replies)
		refused := 0
		for err := range replies {
			if err != nil {
				require.ErrorIs(t, err, ErrBusy)
				refused++
			}
		}
		require.Equal(t, 15, refused)
		require.Equal(t, []string{"ada", "bea", "cy"}, order[1:4], "after one of the flood")
		require.Zero(t, turns.waiting)
		require.Empty(t, turns.cycle)
	})
}

func TestAnAbandonedWaitTakesNoTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns(1, 100)
		first, err := turns.wait(t.Context(), of("a"))
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error, 1)
		go func() {
			_, err := turns.wait(ctx, of("b"))
			failed <- err
		}()
		synctest.Wait()
		cancel()
		require.ErrorIs(t, <-failed, context.Canceled)
		require.Zero(t, turns.waiting)
		require.Empty(t, turns.cycle)
		first()
		second, err := turns.wait(t.Context(), of("c"))
		require.NoError(t, err)
		second()
		require.Zero(t, turns.running)
	})
}
