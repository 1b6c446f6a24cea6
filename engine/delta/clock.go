package delta

import (
	"context"
	"sort"
	"time"

	"github.com/lakewarden/lakewarden/engine/delta/action"
)

// clock gives the commit times of the versions of a log. History, time travel and the
// cleanup of the log all use it, so a time in the history selects the same version
// everywhere.
//
// Versions from the enablement of in-commit timestamps on have those (protocol,
// "In-Commit Timestamps"). Older versions have the modification times of their
// commits. Stores and copies do not keep these in order, so they are raised to
// follow each other, as the reference reader does, and lowered to precede the first
// in-commit timestamp. Times are whole milliseconds.
//
// Invariant: times grow strictly with the version, if the in-commit timestamps do.
type clock struct {
	latest  *Snapshot
	commits []versioned
	// stored are the times of commits below the index len(stored); the others have
	// in-commit timestamps.
	stored []time.Time
	// raised reports, for each of stored, whether it was raised above its modification
	// time to follow the commit before it.
	raised []bool
	// stamps are the in-commit timestamps that were read, by index; nil means that
	// the commit has none.
	stamps map[int]*int64
}

// clock returns the clock of the whole log up to s. s must be the newest version,
// because its properties define which versions have in-commit timestamps.
func (s *Snapshot) clock(ctx context.Context) (*clock, error) {
	commits, err := listCommits(ctx, s.bucket, 0, s.version)
	if err != nil {
		return nil, err
	}
	return s.clockOf(ctx, commits)
}

// clockOf returns the clock of the given commits, which must be the first ones of the
// log.
func (s *Snapshot) clockOf(ctx context.Context, commits []versioned) (*clock, error) {
	c := &clock{latest: s, commits: commits, stamps: map[int]*int64{}}
	first, err := c.firstStamped(ctx)
	if err != nil {
		return nil, err
	}
	c.stored, c.raised = make([]time.Time, first), make([]bool, first)
	for i := range c.stored {
		c.stored[i] = modified(commits[i])
		if i > 0 && !c.stored[i].After(c.stored[i-1]) {
			c.stored[i], c.raised[i] = c.stored[i-1].Add(time.Millisecond), true
		}
	}
	if first == len(commits) {
		return c, nil
	}
	next, err := c.at(ctx, first)
	if err != nil {
		return nil, err
	}
	for i := first - 1; i >= 0 && !c.stored[i].Before(next); i-- {
		c.stored[i] = next.Add(-time.Millisecond)
		next = c.stored[i]
	}
	return c, nil
}

// modified returns the modification time of a commit's file in whole milliseconds.
func modified(c versioned) time.Time { return c.object.ModTime.UTC().Truncate(time.Millisecond) }

// firstStamped returns the index of the first commit whose time is its in-commit
// timestamp. A table's properties can name too early a version: a table that had the
// timestamps from its version 0 on may have replaced one without them.
func (c *clock) firstStamped(ctx context.Context) (int, error) {
	if !c.latest.inCommitTimestamps() {
		return len(c.commits), nil
	}
	since := c.latest.inCommitTimestampsSince()
	first := sort.Search(len(c.commits), func(i int) bool { return c.commits[i].version >= since })
	for ; first < len(c.commits); first++ {
		stamp, err := c.stamp(ctx, first)
		if err != nil {
			return 0, err
		}
		if stamp != nil {
			break
		}
	}
	return first, nil
}

// stamp returns the in-commit timestamp of the commit at an index.
func (c *clock) stamp(ctx context.Context, i int) (*int64, error) {
	if stamp, known := c.stamps[i]; known {
		return stamp, nil
	}
	head, err := readHead(ctx, c.latest.bucket, c.commits[i].version, c.latest.opts.Limits)
	if err != nil {
		return nil, missingAsBroken(err)
	}
	c.note(i, head.info())
	return c.stamps[i], nil
}

// note records the in-commit timestamp of a commit that was already read.
func (c *clock) note(i int, info *action.CommitInfo) { c.stamps[i] = info.InCommitTimestamp }

// at returns the time of the commit at an index. One that lacks its in-commit
// timestamp follows the commit before it.
func (c *clock) at(ctx context.Context, i int) (time.Time, error) {
	for missing := time.Duration(0); ; i, missing = i-1, missing+time.Millisecond {
		if i < len(c.stored) {
			return c.stored[i].Add(missing), nil
		}
		stamp, err := c.stamp(ctx, i)
		if err != nil {
			return time.Time{}, err
		}
		if stamp != nil {
			return time.UnixMilli(*stamp).UTC().Add(missing), nil
		}
	}
}

// find returns how many commits were made at or before t.
func (c *clock) find(ctx context.Context, t time.Time) (int, error) {
	var failed error
	n := sort.Search(len(c.commits), func(i int) bool {
		at, err := c.at(ctx, i)
		if err != nil {
			failed = err
		}
		return failed != nil || at.After(t)
	})
	return n, failed
}

// NewestAt returns the version that was the newest one at a time, as far as the log goes back,
// or 0. s has to be the newest version.
func (s *Snapshot) NewestAt(ctx context.Context, t time.Time) (int64, error) {
	c, err := s.clock(ctx)
	if err != nil {
		return 0, err
	}
	n, err := c.find(ctx, t)
	if err != nil || n == 0 {
		return 0, err
	}
	return c.commits[n-1].version, nil
}

// CommittedAt returns when the version was committed, as the history shows it. s has
// to be the newest version. The time is zero if the commit was cleaned up. The first
// call lists the log if the table has no in-commit timestamps.
func (s *Snapshot) CommittedAt(ctx context.Context) (time.Time, error) {
	s.committed.mu.Lock()
	defer s.committed.mu.Unlock()
	if s.committed.known {
		return s.committed.at, nil
	}
	if s.head.object.Name != "" && (!s.inCommitTimestamps() || s.head.info().InCommitTimestamp == nil) {
		c, err := s.clock(ctx)
		if err != nil {
			return time.Time{}, err
		}
		if n := len(c.commits); n > 0 && c.commits[n-1].version == s.version {
			if s.committed.at, err = c.at(ctx, n-1); err != nil {
				return time.Time{}, err
			}
		}
	} else {
		s.committed.at = s.timestamp
	}
	s.committed.known = true
	return s.committed.at, nil
}
