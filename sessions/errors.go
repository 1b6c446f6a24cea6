package sessions

import (
	"errors"
	"time"
)

// ErrClosed is returned by Acquire after Close was called: 503, retry on another
// replica.
var ErrClosed = errors.New("session pool is closed")

// ErrBusy is returned by Acquire if the queue is full or no turn was granted in time:
// 503 with Retry-After. The concrete error is a [*BusyError].
var ErrBusy = errors.New("no session available")

// BusyError states which limit was reached and when a retry makes sense.
type BusyError struct {
	// Scope is "server", "organisation" or "user": whose limit was reached.
	Scope      string
	RetryAfter time.Duration
}

// Error implements error.
func (e *BusyError) Error() string { return "no session available: " + e.Scope + " limit reached" }

// Is matches ErrBusy.
func (e *BusyError) Is(target error) bool { return target == ErrBusy }
