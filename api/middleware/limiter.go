package middleware

import (
	"sync"
	"time"
)

// Rate is how often something may happen.
type Rate struct {
	// PerMinute is the steady rate.
	PerMinute int
	// Burst is how many may come at once after a pause.
	Burst int
}

// DefaultRate is what each key or person may do.
var DefaultRate = Rate{PerMinute: 6000, Burst: 200}

// Limiter keeps many callers to one rate each, by the generic cell rate
// algorithm: a caller is one instant, the time at which its burst would be
// whole again.
//
// Invariants: an instant in the past equals no entry, so entries are dropped
// without a trace; a refused call costs nothing; the number of entries is at
// most twice the number of callers of the last burst's duration, plus a
// constant. Safe for concurrent use.
type Limiter struct {
	rate     Rate
	interval time.Duration // between two calls at the steady rate
	window   time.Duration // interval × burst
	now      func() time.Time

	mu     sync.Mutex
	whole  map[string]time.Time
	purged int // entries left by the last purge
}

// NewLimiter returns a limiter; both numbers of the rate must be positive. now
// nil means [time.Now].
func NewLimiter(rate Rate, now func() time.Time) *Limiter {
	if now == nil {
		now = time.Now
	}
	interval := time.Minute / time.Duration(max(rate.PerMinute, 1))
	return &Limiter{
		rate: rate, interval: interval, window: interval * time.Duration(max(rate.Burst, 1)),
		now: now, whole: make(map[string]time.Time),
	}
}

// Decision is the answer to one call.
type Decision struct {
	Allowed bool
	// Remaining is how many more may come at once.
	Remaining int
	// Reset is when the burst is whole again.
	Reset time.Duration
	// RetryAfter is when the next call would be allowed; 0 when it is now.
	RetryAfter time.Duration
}

// Take asks for one call of a caller and counts it when it is allowed.
func (l *Limiter) Take(caller string) Decision {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	used := max(0, l.whole[caller].Sub(now)) // of the window
	if used+l.interval > l.window {
		return Decision{Reset: used, RetryAfter: used + l.interval - l.window}
	}
	used += l.interval
	l.purge(now)
	l.whole[caller] = now.Add(used)
	return Decision{Allowed: true, Remaining: int((l.window - used) / l.interval), Reset: used}
}

// purge drops callers whose burst is whole, once the entries have doubled.
func (l *Limiter) purge(now time.Time) {
	const slack = 1024
	if len(l.whole) < 2*l.purged+slack {
		return
	}
	for caller, whole := range l.whole {
		if !whole.After(now) {
			delete(l.whole, caller)
		}
	}
	l.purged = len(l.whole)
}
