package sessions

import (
	"errors"
	"time"
)

// ErrClosed is returned by Acquire once Close has begun: 503, retry on another
// replica.
var ErrClosed = errors.New("session pool is closed")

// ErrBusy is returned by Acquire when the queue is full or a turn did not come
// in time: 503 with Retry-After. The concrete error is a [*BusyError].
var ErrBusy = errors.New("no session available")

// BusyError says how long a caller should stay away.
type BusyError struct {
	// Scope is "server", "organisation" or "user": whose limit was reached.
	Scope      string
	RetryAfter time.Duration
}

// Error implements error.
func (e *BusyError) Error() string { return "no session available: " + e.Scope + " limit reached" }

// Is matches ErrBusy.
func (e *BusyError) Is(target error) bool { return target == ErrBusy }
