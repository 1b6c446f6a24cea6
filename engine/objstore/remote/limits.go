package remote

import (
	"cmp"
	"time"
)

// Limits bound a request's duration and memory. Zero values are the defaults.
type Limits struct {
	// Connect is the timeout of a connection, and again of its TLS handshake; default 5 s.
	Connect time.Duration
	// Idle is the maximum time without progress: until the reply begins, and between two parts of a
	// body; default 10 s.
	Idle time.Duration
	// Attempts is the maximum number of times a request is sent; default 3.
	Attempts int
	// Backoff is the maximum pause between two attempts; default 1 s.
	Backoff time.Duration
	// PartSize is the size, in bytes, of the parts of a body. A body of at least this size is sent
	// in parts. Default 16 MiB, at least 5 MiB on AWS.
	PartSize int64
}

// WithDefaults returns the limits with every zero value replaced by its default.
func (l Limits) WithDefaults() Limits {
	return Limits{
		Connect:  cmp.Or(l.Connect, 5*time.Second),
		Idle:     cmp.Or(l.Idle, 10*time.Second),
		Attempts: cmp.Or(l.Attempts, 3),
		Backoff:  cmp.Or(l.Backoff, time.Second),
		PartSize: cmp.Or(l.PartSize, 16<<20),
	}
}
