package bench

import (
	"context"
	"time"
)

// The names of the subjects in workloads and reports.
const (
	subjectServer = "lakewarden"
	peerDuckDB    = "duckdb"
	peerRoapi     = "roapi"
	peerLocal     = "local"
	peerSplink    = "splink"
	peerVisible   = "visible"
)

// Answer holds the cost of one statement on one subject.
type Answer struct {
	// Total is the time until the last row arrived, First until the first byte of
	// the response.
	Total, First time.Duration
	Rows         int64
	Bytes        int64
}

// Subject runs statements: the server or a peer. A subject is used by one goroutine
// at a time.
type Subject interface {
	Name() string
	Ask(ctx context.Context, st Statement) (Answer, error)
}

// renamed is a subject with another name in reports.
type renamed struct {
	Subject
	name string
}

// Name is the name in reports.
func (r renamed) Name() string { return r.name }
