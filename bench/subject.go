package bench

import (
	"context"
	"time"
)

// The subjects, by the names that workloads and reports use.
const (
	subjectServer = "lakewarden"
	peerDuckDB    = "duckdb"
	peerRoapi     = "roapi"
	peerLocal     = "local"
)

// Answer is what one statement cost on one subject.
type Answer struct {
	// Total is the time until the last row has arrived, First until the first
	// byte of the answer.
	Total, First time.Duration
	Rows         int64
	Bytes        int64
}

// Subject answers statements: the server or a peer. A subject is used by one
// goroutine at a time.
type Subject interface {
	Name() string
	Ask(ctx context.Context, st Statement) (Answer, error)
}

// renamed is a subject under another name.
type renamed struct {
	Subject
	name string
}

// Name is the name in reports.
func (r renamed) Name() string { return r.name }
