package heap

import (
	"sync"
	"time"
)

// The engine's allocator keeps free pages for a second. Without them each buffer
// costs the system's work for fresh pages, which is a sixth of the time of a large
// write. With them a sort that spills some hundred megabytes holds these beside what
// its limit counts. So they are kept while there is room, and given back where the
// statements come near their limits.
const (
	// freeShare is how much of their limits statements fill before nothing free is kept.
	freeShare = 0.75
	// freeKept is what may stay free from one statement to the next, freeIdle how long
	// it may where none comes.
	freeKept = 64 << 20
	freeIdle = time.Second
	// freeSoon is when more than that goes. To give back what a large write took is
	// work that its caller need not wait for.
	freeSoon = 20 * time.Millisecond
	// growth is how many bytes a second statements can take, by measurement.
	growth = 4 << 30
	// How often the heap is looked at.
	nearLimit, farFromLimit = time.Millisecond, 20 * time.Millisecond
)

// keeper keeps the free pages of this process's allocator within bounds.
type keeper struct {
	resident func() int64
	purge    func()
	// wake has the heap looked at after a while, and not at the time before.
	wake func(after time.Duration)

	mu      sync.Mutex
	running int
	limits  int64 // of the statements that run
	floor   int64 // what the process held when none did
	since   time.Time
}

// process keeps the heap of this process, whose engines share one allocator.
var process = newKeeper()

// Lend counts a statement that may take limit bytes, until the function returned is
// called. It is safe for concurrent use.
func Lend(limit int64) (back func()) { return process.lend(limit) }

func newKeeper() *keeper {
	k := &keeper{resident: residentBytes, purge: purgeHeap}
	timer := time.AfterFunc(time.Hour, k.watch)
	timer.Stop()
	k.wake = func(after time.Duration) { timer.Reset(after) }
	return k
}

// Lend counts a statement in that may take limit bytes, until the function returned is called.
func (k *keeper) lend(limit int64) (back func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.running == 0 {
		if k.leavesMuch() {
			k.purge()
		}
		k.floor = k.resident()
	}
	k.running++
	k.limits += limit
	k.wake(nearLimit)
	return func() { k.back(limit) }
}

func (k *keeper) back(limit int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.running--
	k.limits -= limit
	k.since = time.Now()
	if k.running == 0 {
		k.wake(freeSoon)
	}
}

// leavesMuch reports whether the statements that ended left more than may stay.
func (k *keeper) leavesMuch() bool { return k.resident() > k.floor+freeKept }

// watch looks again and again until no statement has run for a while. Nothing is
// free then.
func (k *keeper) watch() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if wait := k.look(); wait > 0 {
		k.wake(wait)
	}
}

// look gives back what has to be, and says how long nobody needs to look; 0 is for
// ever. The caller holds mu.
func (k *keeper) look() time.Duration {
	if k.running == 0 {
		wait := freeIdle
		if k.leavesMuch() {
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
