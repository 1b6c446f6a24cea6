package heap

import (
	"sync"
	"time"
)

// DuckDB's allocator retains free pages for a second. Without them each buffer needs fresh
// pages from the system, which is a sixth of the time of a large write. With them a sort that
// spills some hundred megabytes takes these in addition to its limit. So free pages are
// retained while there is room, and returned when the statements come near their limits.
const (
	// freeShare is the share of their limits at which running statements lose all free pages.
	freeShare = 0.75
	// freeKept is how many bytes may stay free from one statement to the next, freeIdle how
	// long they may without a statement.
	freeKept = 64 << 20
	freeIdle = time.Second
	// freeSoon is when more than freeKept is returned. No caller waits for the work of
	// returning what a large write took.
	freeSoon = 20 * time.Millisecond
	// growth is how many bytes a second statements can take, as measured.
	growth = 4 << 30
	// The bounds of the time between two checks of the heap.
	nearLimit, farFromLimit = time.Millisecond, 20 * time.Millisecond
)

// keeper bounds the free pages of the allocator.
type keeper struct {
	resident func() int64
	purge    func()
	// schedule schedules a check of the heap and replaces the one scheduled before.
	schedule func(after time.Duration)

	mu      sync.Mutex
	running int
	limits  int64 // of the statements that run
	floor   int64 // what the process held when none did
	since   time.Time
}

// process is the keeper of this process, whose engines share one allocator.
var process = newKeeper()

// Lend counts a statement that may take limit bytes as running until back is called. It
// is safe for concurrent use.
func Lend(limit int64) (back func()) { return process.lend(limit) }

func newKeeper() *keeper {
	k := &keeper{resident: residentBytes, purge: purgeHeap}
	timer := time.AfterFunc(time.Hour, k.watch)
	timer.Stop()
	k.schedule = func(after time.Duration) { timer.Reset(after) }
	return k
}

// lend is [Lend] for one keeper.
func (k *keeper) lend(limit int64) (back func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.running == 0 {
		if k.muchIsFree() {
			k.purge()
		}
		k.floor = k.resident()
	}
	k.running++
	k.limits += limit
	k.schedule(nearLimit)
	return func() { k.back(limit) }
}

func (k *keeper) back(limit int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.running--
	k.limits -= limit
	k.since = time.Now()
	if k.running == 0 {
		k.schedule(freeSoon)
	}
}

// muchIsFree reports whether the statements that ended left more than may stay free.
func (k *keeper) muchIsFree() bool { return k.resident() > k.floor+freeKept }

// watch checks the heap repeatedly until no statement has run for freeIdle; nothing is free
// then.
func (k *keeper) watch() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if wait := k.check(); wait > 0 {
		k.schedule(wait)
	}
}

// check returns free pages as necessary. It returns the time until the next check, 0 if none
// is necessary. The caller holds mu.
func (k *keeper) check() time.Duration {
	if k.running == 0 {
		wait := freeIdle
		if k.muchIsFree() {
			wait = freeSoon
		}
		if rest := wait - time.Since(k.since); rest > 0 {
			return rest
		}
		k.purge()
		return 0
	}
	level := k.floor + int64(freeShare*float64(k.limits))
	room := level - k.resident()
	if room <= 0 {
		k.purge()
	}
	return min(max(time.Duration(float64(room)/growth*float64(time.Second)), nearLimit), farFromLimit)
}
