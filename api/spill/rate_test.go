package spill_test

import (
	"context"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/spill"
)

const kib = 1 << 10

// slowConn is a connection to a client that takes pause for each write, with a clock of
// its own. The first write waits for open.
type slowConn struct {
	open  chan struct{}
	pause func(write int) time.Duration

	mu       sync.Mutex
	at       time.Time
	deadline time.Time
	writes   int
	taken    int64
}

func (c *slowConn) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *slowConn) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deadline = t
	return nil
}

func (c *slowConn) Write(p []byte) (int, error) {
	<-c.open
	c.mu.Lock()
	defer c.mu.Unlock()
	end := c.at.Add(c.pause(c.writes))
	c.writes++
	if end.After(c.deadline) {
		if c.at.Before(c.deadline) {
			c.at = c.deadline
		}
		return 0, os.ErrDeadlineExceeded
	}
	c.at = end
	c.taken += int64(len(p))
	return len(p), nil
}

// sendSlowly spills size bytes before the client reads the first, and returns the time
// that the client took, the bytes that it got, and the error of Finish.
func sendSlowly(t *testing.T, size int, opts spill.Options, pause func(write int) time.Duration) (time.Duration, int64, error) {
	t.Helper()
	begun := time.Unix(1_800_000_000, 0)
	conn := &slowConn{open: make(chan struct{}), pause: pause, at: begun}
	opts.Dir, opts.Patience, opts.Now = t.TempDir(), time.Millisecond, conn.now
	opts.ServerBytes, opts.OwnerBytes = 256*mib, 256*mib
	store := spill.New(opts)
	out := store.Writer(context.Background(), spill.Owner{Org: "org", User: "ana"}, conn, nil)
	_, err := out.Write(random(size))
	require.NoError(t, err)
	close(conn.open)
	err = out.Finish()
	require.NoError(t, out.Close())
	used, files := store.Used()
	require.Zero(t, used)
	require.Zero(t, files)
	return conn.at.Sub(begun), conn.taken, err
}

func always(d time.Duration) func(int) time.Duration { return func(int) time.Duration { return d } }

// TestATricklingClientIsGivenUp checks that a client which reads a piece every nine
// minutes is treated like one that reads nothing.
func TestATricklingClientIsGivenUp(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	took, taken, err := sendSlowly(t, 16*mib, spill.Options{Registerer: registry}, always(9*time.Minute))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.LessOrEqual(t, taken, int64(2*64*kib))
	require.LessOrEqual(t, took, 20*time.Minute, "a piece from memory, and ten minutes for the file")
	require.Equal(t, map[string]float64{"full": 0, "stalled": 1, "disk": 0}, aborted(t, registry))
}

// TestTheLeastRate checks that a client must read at the rate of the options, with a lag
// of at most ten minutes at any time.
func TestTheLeastRate(t *testing.T) {
	const size = 64 * mib
	piece := 64 * kib * time.Second / (32 * kib) // at 32 KiB a second
	for name, c := range map[string]struct {
		pause func(write int) time.Duration
		rate  int64
		whole bool
	}{
		"at the rate":              {always(piece), 0, true},
		"faster":                   {always(piece / 3), 0, true},
		"half of it":               {always(2 * piece), 0, false},
		"half of it, and allowed":  {always(2 * piece), 16 * kib, true},
		"one long pause":           {pauses(9*time.Minute, 600), 0, true},
		"long pauses, far apart":   {pauses(9*time.Minute, 300), 0, true},
		"long pauses":              {pauses(9*time.Minute, 100), 0, false},
		"a pause that is too long": {pauses(10*time.Minute+time.Second, 600), 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			rate := c.rate
			if rate == 0 {
				rate = 32 * kib
			}
			took, taken, err := sendSlowly(t, size, spill.Options{LeastRate: c.rate}, c.pause)
			if c.whole {
				require.NoError(t, err)
				require.EqualValues(t, size, taken)
			} else {
				require.ErrorIs(t, err, os.ErrDeadlineExceeded)
				require.Less(t, taken, int64(size))
			}
			// A file never exists longer than its bytes take at the minimum rate, plus
			// the lag. The first piece is not part of the file, and has the same time.
			require.LessOrEqual(t, took, 20*time.Minute+time.Duration(taken)*time.Second/time.Duration(rate))
		})
	}
}

// pauses returns long pauses, one in n writes, of a client that is otherwise fast.
func pauses(long time.Duration, n int) func(int) time.Duration {
	return func(write int) time.Duration {
		if write%n == n/2 {
			return long
		}
		return time.Millisecond
	}
}

// TestAUserHasHalfOfTheRoom checks that one user can use half of the organisation's
// space, however many streams they open, and that the other half is available to others.
func TestAUserHasHalfOfTheRoom(t *testing.T) {
	p := newPair(t, spill.Options{ServerBytes: 64 * mib, OwnerBytes: 2 * mib})
	_, err := p.out.Write(random(mib * 3 / 4))
	require.NoError(t, err)
	first := *p
	p.connect(spill.Owner{Org: "org", User: "ana"})
	_, err = p.out.Write(random(mib))
	require.Error(t, err, "the streams of a user count together")
	used, _ := p.store.Used()
	require.LessOrEqual(t, used, int64(mib))
	second := *p
	p.connect(spill.Owner{Org: "org", User: "ben"})
	_, err = p.out.Write(random(mib * 3 / 4))
	require.NoError(t, err)
	third := *p
	p.connect(spill.Owner{Org: "other", User: "ana"})
	_, err = p.out.Write(random(mib * 3 / 4))
	require.NoError(t, err, "the same name elsewhere is another user")
	first.close(t)
	second.close(t)
	third.close(t)
}
