package throttle

import (
	"hash/maphash"
	"sync"
	"time"
)

// The size of a meter.
const (
	meterRows  = 4
	meterSlots = 1 << 14
)

// meter counts events by name. A count falls by one each interval.
//
// A name has one slot in each row, by a randomly seeded hash, and its count is the lowest of
// them. So the memory does not grow with the number of names. The count of a name is never
// below its own events: a flood of other names cannot push it out. It is above them only if
// other names are counted in all of its slots.
//
// Invariant: a slot holds the time, in nanoseconds of the Unix epoch, at which its count is
// zero; a time in the past is a count of zero. A meter is safe for concurrent use.
type meter struct {
	now      func() time.Time
	burst    int
	interval time.Duration
	seed     maphash.Seed

	mu   sync.Mutex
	rows [meterRows][meterSlots]int64
}

func newMeter(now func() time.Time, burst int, interval time.Duration) *meter {
	return &meter{now: now, burst: burst, interval: interval, seed: maphash.MakeSeed()}
}

// window is the time in which a count of burst falls to zero.
func (m *meter) window() time.Duration { return m.interval * time.Duration(m.burst) }

// slots returns the slots of a name.
func (m *meter) slots(name string) (slots [meterRows]*int64) {
	hash := maphash.String(m.seed, name)
	step := hash>>32 | 1
	for row := range slots {
		slots[row] = &m.rows[row][(hash+uint64(row)*step)%meterSlots]
	}
	return slots
}

// used returns the time in which the count of a name falls to zero. The caller has locked m.
func (m *meter) used(slots [meterRows]*int64, now int64) time.Duration {
	lowest := *slots[0]
	for _, slot := range slots[1:] {
		lowest = min(lowest, *slot)
	}
	return time.Duration(max(0, lowest-now))
}

// raise sets the count of a name, and lowers that of no other.
func raise(slots [meterRows]*int64, zero int64) {
	for _, slot := range slots {
		*slot = max(*slot, zero)
	}
}

// add counts an event. It returns how long it takes until the count is at most burst,
// which is 0 if it is. Counts beyond twice the burst are not remembered, so that a name
// recovers soon after a flood.
func (m *meter) add(name string) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	now, slots, window := m.now().UnixNano(), m.slots(name), m.window()
	used := min(m.used(slots, now)+m.interval, 2*window)
	raise(slots, now+int64(used))
	return max(0, used-window)
}

// take counts an event unless the count has reached burst, and reports whether it did.
func (m *meter) take(name string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	now, slots := m.now().UnixNano(), m.slots(name)
	used := m.used(slots, now) + m.interval
	if used > m.window() {
		return false
	}
	raise(slots, now+int64(used))
	return true
}

// excess returns by how much the count exceeds burst; it may be negative.
func (m *meter) excess(name string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	used := m.used(m.slots(name), m.now().UnixNano())
	return int((used+m.interval-1)/m.interval) - m.burst
}
