package delta

import (
	"context"
	"fmt"
	"slices"

	"github.com/lakewarden/lakewarden/engine/delta/checkpoint"
	"github.com/lakewarden/lakewarden/engine/delta/logpath"
	"github.com/lakewarden/lakewarden/engine/objstore"
)

// versioned is a listed commit with its version.
type versioned struct {
	version int64
	object  objstore.Object
}

// segment holds the files of the log from which one version is read.
type segment struct {
	target int64
	// checkpoint holds the files of the checkpoint; it is empty if there is none.
	checkpoint []logpath.File
	// covered is the checkpoint's version, or -1.
	covered int64
	// checksum reports whether the checkpoint's version has a checksum file.
	checksum bool
	// commits are the commits after the checkpoint up to the target, without a gap.
	commits []versioned
	// head is the target's own commit; its object is zero if it was deleted.
	head versioned
	// compacted are the log compaction files that another reader may use instead of
	// commits.
	compacted []logpath.File
}

// hint reads `_last_checkpoint`. If that is missing or invalid, the log is listed from
// its start.
func hint(ctx context.Context, b objstore.Bucket) (int64, bool) {
	const most = 1 << 20
	body, err := readObject(ctx, b, logpath.LastCheckpoint, most, 0)
	if err != nil {
		return 0, false
	}
	last, err := checkpoint.DecodeLast(body)
	return last.Version, err == nil
}

// listing holds the files of the log from some version on.
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

// findSegment lists the log and selects the files of a version; a negative target
// selects the latest. It also returns the listing; all reports whether the listing
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

// segment selects the newest usable checkpoint at or below the target and all commits
// after it. A missing commit is an error (protocol, "Reading").
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
// checkpoint, or -1. Even an unreadable checkpoint proves that its version exists: an
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

// incomplete returns the reason why target cannot be read without the missing commit.
func (l listing) incomplete(known *damage, missing, target int64, asked bool) error {
	if err := known.explain(l, missing, target); err != nil {
		return err
	}
	if asked && l.cleaned(l.checkpoints(), missing) {
		return fmt.Errorf("version %d was cleaned up: %w", target, ErrVersionNotFound)
	}
	return withReason(ReasonCommitMissing, logpath.CommitName(missing), fmt.Errorf("commit %d is missing below %d: %w", missing, target,
		ErrLogBroken))
}

// cleaned reports whether a missing commit was deleted by a cleanup: the log starts
// after it, or continues from a later checkpoint. An interrupted cleanup leaves commits
// before such a gap.
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
