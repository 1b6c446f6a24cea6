package delta

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/engine/delta/action"
)

// Options are the optional things of [Load] and [Create]. The zero value works.
// A snapshot hands its options on to whatever grows from it.
type Options struct {
	// At selects the version that [Load] opens; zero means the latest.
	At At
	// Clock is the source of time; default time.Now.
	Clock func() time.Time
	// NewID makes the ids of tables and commits; default random UUIDs.
	NewID func() string
	// Warn hears of failures after the commit point. Default: nobody does.
	Warn func(ctx context.Context, w Warning)
	// EngineInfo names the writer in commitInfo.
	EngineInfo string
	// Committer publishes versions; default put-if-absent into the bucket.
	Committer Committer
	// Limits caps what commits may hold.
	Limits action.Limits
	// CheckpointBytes caps one checkpoint file; default 2 GiB.
	CheckpointBytes int64
	// Attempts bounds the tries of one commit; default 30.
	Attempts int
	// Pause waits before try n+1 of a commit; default exponential with full
	// jitter from 10 ms to 1 s.
	Pause func(ctx context.Context, n int) error
	// NoCheckpoints leaves checkpoints to an explicit [Snapshot.Checkpoint].
	NoCheckpoints bool
}

// Warning is a failure that changed nothing about the table.
type Warning struct {
	// Step is "checksum", "checkpoint", "cleanup" or "stat".
	Step    string
	Version int64
	Err     error
}

func (o Options) orDefault() Options {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.NewID == nil {
		o.NewID = uuid.NewString
	}
	if o.Warn == nil {
		o.Warn = func(context.Context, Warning) {}
	}
	if o.EngineInfo == "" {
		o.EngineInfo = "Lakewarden"
	}
	if o.CheckpointBytes <= 0 {
		o.CheckpointBytes = 2 << 30
	}
	if o.Attempts <= 0 {
		o.Attempts = 30
	}
	if o.Pause == nil {
		o.Pause = pause
	}
	o.Limits = o.Limits.OrDefault()
	return o
}

// pause spreads writers that lost to each other: everyone waits a random part
// of a window that doubles.
func pause(ctx context.Context, n int) error {
	window := min(10*time.Millisecond<<min(n, 10), time.Second)
	timer := time.NewTimer(rand.N(window))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// At selects a version. The zero value is the latest.
type At struct {
	version *int64
	time    *time.Time
}

// AtVersion selects a version by number.
func AtVersion(version int64) At { return At{version: &version} }

// Is reports whether a selects a version by its number, and this one.
func (a At) Is(version int64) bool { return a.version != nil && *a.version == version }

// AtTimestamp selects the last version that was committed at or before t.
func AtTimestamp(t time.Time) At { return At{time: &t} }
