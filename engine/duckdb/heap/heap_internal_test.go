package heap

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// fakeHeap is memory of which some is free.
type fakeHeap struct {
	used, free int64
	scheduled  time.Duration
}

func (f *fakeHeap) keeper() *keeper {
	return &keeper{
		resident: func() int64 { return f.used + f.free }, purge: func() { f.free = 0 },
		schedule: func(after time.Duration) { f.scheduled = after }, // the test looks
	}
}

// TestFreePagesAreKeptWhileThereIsRoom: what is free stays for the next buffer far
// from the limits, and goes near them.
func TestFreePagesAreKeptWhileThereIsRoom(t *testing.T) {
	f := &fakeHeap{used: 100 << 20}
	k := f.keeper()
	back := k.lend(400 << 20)
	f.used, f.free = 200<<20, 190<<20
	require.InDelta(t, 2.5*float64(time.Millisecond), k.check(), float64(time.Millisecond), "ten megabytes of room are gone by then")
	require.Equal(t, int64(190<<20), f.free)
	f.free = 210 << 20
	require.Equal(t, nearLimit, k.check())
	require.Zero(t, f.free)
	require.Equal(t, farFromLimit, k.check(), "there is room again")
	f.used, f.free = 450<<20, 1<<20
	require.Equal(t, nearLimit, k.check())
	require.Zero(t, f.free, "nothing is kept above three quarters")

	second := k.lend(400 << 20)
	f.used, f.free = 450<<20, 100<<20
	require.Equal(t, farFromLimit, k.check(), "the limits add up, and the floor stays")
	require.Equal(t, int64(100<<20), f.free)
	second()
	k.check()
	require.Zero(t, f.free, "that of one that ended counts no more")
	back()
}

// TestFreePagesGoWhenNothingRuns: many at once, a few after a while.
func TestFreePagesGoWhenNothingRuns(t *testing.T) {
	f := &fakeHeap{used: 100 << 20}
	k := f.keeper()
	back := k.lend(1 << 30)
	f.free = freeKept + 1
	back()
	require.Positive(t, f.free, "nobody waits for it")
	require.Equal(t, freeSoon, f.scheduled, "but it goes soon")
	require.InDelta(t, freeSoon, k.check(), float64(freeSoon)/2)
	k.since = time.Now().Add(-2 * freeSoon)
	require.Zero(t, k.check())
	require.Zero(t, f.free)

	back = k.lend(1 << 30)
	f.free = freeKept + 1
	back()
	back = k.lend(1 << 30)
	require.Equal(t, nearLimit, f.scheduled, "whatever the time before was")
	require.Zero(t, f.free, "no statement begins with more")
	require.Equal(t, f.used, k.floor)
	back()

	back = k.lend(1 << 30)
	f.used, f.free = 90<<20, freeKept
	back()
	require.Positive(t, f.free)
	require.InDelta(t, freeIdle, k.check(), float64(freeIdle)/2)
	require.Positive(t, f.free)
	back = k.lend(1 << 30)
	k.since = time.Now().Add(-2 * freeIdle)
	require.Equal(t, farFromLimit, k.check(), "a statement runs")
	require.Positive(t, f.free)
	back()
	k.since = time.Now().Add(-2 * freeIdle)
	require.Zero(t, k.check())
	require.Zero(t, f.free)
}
