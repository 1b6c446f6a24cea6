package delta

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/engine/delta/action"
)

// Options configures [Load] and [Create]. The zero value is valid. Snapshots and
// transactions inherit the options of the snapshot that they are derived from.
type Options struct {
	// At selects the version that [Load] reads; zero selects the latest.
	At At
	// Clock returns the current time; the default is time.Now.
	Clock func() time.Time
	// NewID generates ids of tables and commits; the default is random UUIDs.
	NewID func() string
	// Warn is called for failures after a commit was published; the default ignores
	// them.
	Warn func(ctx context.Context, w Warning)
	// EngineInfo is the writer's name in commitInfo.
	EngineInfo string
	// Committer publishes versions; the default is put-if-absent into the bucket.
	Committer Committer
	// Limits bounds the contents of commits.
	Limits action.Limits
	// CheckpointBytes bounds the size of a checkpoint file; the default is 2 GiB.
	CheckpointBytes int64
	// Attempts bounds the attempts of one commit; the default is 30.
	Attempts int
	// Pause waits before attempt n+1 of a commit; the default is exponential backoff
	// with full jitter from 10 ms to 1 s.
	Pause func(ctx context.Context, n int) error
	// NoCheckpoints disables automatic checkpoints; see [Snapshot.Checkpoint].
	NoCheckpoints bool
}

// Warning reports a failure that did not affect the committed version.
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

// pause waits for a random part of a window that doubles with each attempt, so that
// competing writers spread out.
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

// At selects a version. The zero value selects the latest.
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
