package spill_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/spill"
)

// turn is a turn that others wait for, or not.
type turn struct {
	awaited    atomic.Bool
	slow, fast atomic.Int32
	rate       atomic.Pointer[func() float64]
}

func (f *turn) Awaited() bool { return f.awaited.Load() }

func (f *turn) Slow(rate func() float64) {
	f.rate.Store(&rate)
	f.slow.Add(1)
}

func (f *turn) Fast() { f.fast.Add(1) }

// TestWriterIsInAHurryWhileOthersWait checks that a writer with endless patience does not wait
// for its client while others wait, and tells when the client is slow and when it has caught up.
func TestWriterIsInAHurryWhileOthersWait(t *testing.T) {
	store := spill.New(spill.Options{Dir: t.TempDir(), ServerBytes: 64 * mib, OwnerBytes: 64 * mib, Patience: time.Hour,
		Hurry: time.Millisecond})
	server, client := net.Pipe()
	f := &turn{}
	out := store.Writer(t.Context(), spill.Owner{Org: "org", User: "ana"}, server, f)
	written := make(chan error)
	want := random(4 * mib)
	go func() {
		_, err := out.Write(want)
		written <- err
	}()
	f.awaited.Store(true) // the client reads nothing
	require.NoError(t, <-written)
	require.EqualValues(t, 1, f.slow.Load())
	require.Zero(t, (*f.rate.Load())())
	got := make([]byte, len(want))
	_, err := io.ReadFull(client, got)
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.Positive(t, (*f.rate.Load())())
	more := random(1)
	require.Eventually(t, func() bool { // the connection has accepted the last piece
		go func() { _, _ = io.ReadFull(client, make([]byte, 1)) }()
		_, err := out.Write(more)
		return err == nil && f.fast.Load() == 1
	}, time.Minute, time.Millisecond)
	require.NoError(t, client.Close())
	_ = out.Close()
	require.NoError(t, server.Close())
}

// TestSlowestStreamMakesRoom checks that a user whose limit is reached loses its slowest stream
// while others wait, instead of the one that reaches the limit.
func TestSlowestStreamMakesRoom(t *testing.T) {
	store := spill.New(spill.Options{Dir: t.TempDir(), ServerBytes: 64 * mib, OwnerBytes: 8 * mib, Patience: time.Hour,
		Hurry: time.Millisecond})
	f := &turn{}
	f.awaited.Store(true)
	open := func(user string) (*spill.Writer, net.Conn) {
		server, client := net.Pipe()
		out := store.Writer(context.WithoutCancel(t.Context()), spill.Owner{Org: "org", User: user}, server, f)
		t.Cleanup(func() {
			require.NoError(t, client.Close())
			require.NoError(t, out.Close())
			require.NoError(t, server.Close())
		})
		return out, client
	}
	bystander, _ := open("bob")
	slow, _ := open("ana")
	faster, client := open("ana")
	for _, out := range []*spill.Writer{bystander, slow, faster} {
		_, err := out.Write(random(mib))
		require.NoError(t, err)
	}
	_, err := io.ReadFull(client, make([]byte, mib/2))
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { // as the handler of the response does
		err := slow.Finish()
		_ = slow.Close()
		done <- err
	}()
	_, err = faster.Write(random(3 * mib))
	require.NoError(t, err)
	err = <-done
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.False(t, errors.Is(err, context.Canceled))
	_, files := store.Used()
	require.Equal(t, 2, files, "one of each user")
}
