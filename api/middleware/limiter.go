package middleware

import (
	"sync"
	"time"
)

// Rate limits how often something may happen.
type Rate struct {
	// PerMinute is the sustained rate.
	PerMinute int
	// Burst is how many calls are allowed at once after a pause.
	Burst int
}

// Limiter limits many callers to one rate each, by the generic cell rate algorithm: the
// state of a caller is the time at which its burst is available in full again.
//
// Invariants: a time in the past is equivalent to no entry, so such entries can be
// dropped; a refused call does not count; the number of entries is at most twice the
// number of callers within the duration of the last burst, plus a constant. A Limiter is
// safe for concurrent use.
type Limiter struct {
	rate     Rate
	interval time.Duration // between two calls at the sustained rate
	window   time.Duration // interval × burst
	now      func() time.Time

	mu     sync.Mutex
	full   map[string]time.Time // when the burst of a caller is available in full
	purged int                  // entries after the last purge
}

// NewLimiter returns a limiter. Both numbers of the rate must be positive. If now is nil,
// [time.Now] is used.
func NewLimiter(rate Rate, now func() time.Time) *Limiter {
	if now == nil {
		now = time.Now
	}
	interval := time.Minute / time.Duration(max(rate.PerMinute, 1))
	return &Limiter{
		rate: rate, interval: interval, window: interval * time.Duration(max(rate.Burst, 1)),
		now: now, full: make(map[string]time.Time),
	}
}

// Decision is the result of one call of [Limiter.Take].
type Decision struct {
	Allowed bool
	// Remaining is how many more calls are allowed at once.
	Remaining int
	// Reset is the time until the burst is available in full.
	Reset time.Duration
	// RetryAfter is the time until the next call is allowed; 0 if it is allowed now.
	RetryAfter time.Duration
}

// Take decides about one call of a caller, and counts it if it is allowed.
func (l *Limiter) Take(caller string) Decision {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	used := max(0, l.full[caller].Sub(now)) // the used part of the window
	if used+l.interval > l.window {
		return Decision{Reset: used, RetryAfter: used + l.interval - l.window}
	}
	used += l.interval
	l.purge(now)
	l.full[caller] = now.Add(used)
	return Decision{Allowed: true, Remaining: int((l.window - used) / l.interval), Reset: used}
}

// giveBack undoes an allowed call of a caller that was refused for another reason.
func (l *Limiter) giveBack(caller string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if full, ok := l.full[caller]; ok {
		l.full[caller] = full.Add(-l.interval)
	}
}

// purge drops callers whose burst is available in full, once the entries have doubled.
func (l *Limiter) purge(now time.Time) {
	const slack = 1024
	if len(l.full) < 2*l.purged+slack {
		return
	}
	for caller, full := range l.full {
		if !full.After(now) {
			delete(l.full, caller)
		}
	}
	l.purged = len(l.full)
}
