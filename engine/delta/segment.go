package delta

import (
	"context"
	"fmt"
	"slices"

	"github.com/lakewarden/lakewarden/engine/delta/checkpoint"
	"github.com/lakewarden/lakewarden/engine/delta/logpath"
	"github.com/lakewarden/lakewarden/engine/objstore"
)

// versioned is a listed commit.
type versioned struct {
	version int64
	object  objstore.Object
}

// segment is the part of a log that makes one version.
type segment struct {
	target int64
	// checkpoint holds the files of the checkpoint, or nothing.
	checkpoint []logpath.File
	// covered is the checkpoint's version, or -1.
	covered int64
	// checksum reports whether the checkpoint's version has a checksum file.
	checksum bool
	// commits are those after the checkpoint up to the target, without a gap.
	commits []versioned
	// head is the target's own commit; its object is zero when it is gone.
	head versioned
	// compacted are files that another reader may take instead of commits.
	compacted []logpath.File
}

// hint reads `_last_checkpoint`. It is advice: whatever is wrong with it, the
// log is listed from its start instead.
func hint(ctx context.Context, b objstore.Bucket) (int64, bool) {
	const most = 1 << 20
	body, err := readObject(ctx, b, logpath.LastCheckpoint, most, 0)
	if err != nil {
		return 0, false
	}
	last, err := checkpoint.DecodeLast(body)
	return last.Version, err == nil
}

// listing is what the log's folder holds from some version on.
type listing struct {
	files   []logpath.File
	commits []versioned
}

func listLog(ctx context.Context, b objstore.Bucket, from int64) (listing, error) {
	var l listing
	opts := objstore.ListOptions{Shallow: true}
	if from > 0 {
		opts.StartAfter = logpath.Before(from)
	}
	for o, err := range b.List(ctx, logpath.Dir, opts) {
		if err != nil {
			return listing{}, fmt.Errorf("listing the log: %w", err)
		}
		l.add(logpath.Parse(o.Name), o)
	}
	return l, nil
}

func (l *listing) add(f logpath.File, o objstore.Object) {
	f.Size = o.Size
	switch f.Kind {
	case logpath.Other:
	case logpath.Commit:
		l.commits = append(l.commits, versioned{f.Version, o})
	default:
		l.files = append(l.files, f)
	}
}

// findSegment lists the log and selects the files that make a version; target
// below zero means the latest. It also returns the listing; all reports whether that
// covers the whole log.
func findSegment(ctx context.Context, b objstore.Bucket, target int64) (seg segment, l listing, all bool, err error) {
	if from, ok := hint(ctx, b); ok && from > 0 && (target < 0 || from <= target) {
		l, err := listLog(ctx, b, from)
		if err != nil {
			return segment{}, listing{}, false, err
		}
		if seg, err := l.segment(target, &damage{}); err == nil && seg.covered >= 0 {
			return seg, l, false, nil
		}
	}
	if l, err = listLog(ctx, b, 0); err == nil {
		seg, err = l.segment(target, &damage{})
	}
	return seg, l, true, err
}

// segment selects the newest usable checkpoint at or below the target and
// demands every commit after it (protocol, "Reading": a gap is an error).
func (l listing) segment(target int64, known *damage) (segment, error) {
	newest := l.newest()
	switch {
	case newest < 0:
		return segment{}, ErrTableNotFound
	case target > newest:
		return segment{}, fmt.Errorf("version %d, the latest is %d: %w", target, newest, ErrVersionNotFound)
	}
	asked := target >= 0
	if !asked {
		target = newest
	}
	seg := segment{target: target, covered: -1, head: versioned{version: target}}
	for _, set := range l.sets() {
		if set.version() <= target && known.usable(set) {
			seg.covered, seg.checkpoint, seg.checksum = set.version(), set, l.hasChecksum(set.version())
			break
		}
	}
	next := seg.covered + 1
	for _, c := range l.commits {
		if c.version == target {
			seg.head = c
		}
		if c.version < next || c.version > target {
			continue
		}
		if c.version != next {
			break
		}
		seg.commits = append(seg.commits, c)
		next++
	}
	if next <= target {
		return segment{}, l.incomplete(known, next, target, asked)
	}
	for _, f := range l.files {
		if f.Kind == logpath.Compacted && f.Version > seg.covered && f.End <= target {
			seg.compacted = append(seg.compacted, f)
		}
	}
	return seg, nil
}

func (l listing) hasChecksum(version int64) bool {
	return slices.ContainsFunc(l.files, func(f logpath.File) bool { return f.Kind == logpath.Checksum && f.Version == version })
}

// newest returns the newest version of which the listing has a commit or any file of a
// checkpoint, or -1. A checkpoint proves its version even if it cannot be read: an
// older version must not be taken for the latest.
func (l listing) newest() int64 {
	newest := int64(-1)
	if n := len(l.commits); n > 0 {
		newest = l.commits[n-1].version
	}
	for _, f := range l.files {
		switch f.Kind {
		case logpath.Checkpoint, logpath.V2, logpath.Multipart:
			newest = max(newest, f.Version)
		}
	}
	return newest
}

// incomplete returns the reason why target cannot be read without the commit missing.
func (l listing) incomplete(known *damage, missing, target int64, asked bool) error {
	if err := known.explain(l, missing, target); err != nil {
		return err
	}
	if asked && l.cleaned(l.checkpoints(), missing) {
		return fmt.Errorf("version %d is cleaned up: %w", target, ErrVersionNotFound)
	}
	return withReason(ReasonCommitMissing, logpath.CommitName(missing), fmt.Errorf("commit %d is missing below %d: %w", missing, target,
		ErrLogBroken))
}

// cleaned reports whether a missing commit was deleted as one that is no longer
// needed: the log begins after it, or goes on from a later checkpoint. A cleanup
// that was interrupted leaves such rows of commits, and checkpoints without.
func (l listing) cleaned(checkpoints map[int64][]logpath.File, missing int64) bool {
	if missing == 0 {
		return true
	}
	for version := range checkpoints {
		if version >= missing {
			return true
		}
	}
	return false
}
