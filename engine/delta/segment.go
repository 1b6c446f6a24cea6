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
// below zero means the latest.
func findSegment(ctx context.Context, b objstore.Bucket, target int64) (segment, error) {
	if from, ok := hint(ctx, b); ok && from > 0 && (target < 0 || from <= target) {
		l, err := listLog(ctx, b, from)
		if err != nil {
			return segment{}, err
		}
		if seg, err := l.segment(target); err == nil && seg.covered >= 0 {
			return seg, nil
		}
	}
	l, err := listLog(ctx, b, 0)
	if err != nil {
		return segment{}, err
	}
	return l.segment(target)
}

// segment selects the newest complete checkpoint at or below the target and
// demands every commit after it (protocol, "Reading": a gap is an error).
func (l listing) segment(target int64) (segment, error) {
	checkpoints := l.checkpoints()
	newest := int64(-1)
	if n := len(l.commits); n > 0 {
		newest = l.commits[n-1].version
	}
	for version := range checkpoints {
		newest = max(newest, version)
	}
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
	for version, files := range checkpoints {
		if version <= target && version > seg.covered {
			seg.covered, seg.checkpoint = version, files
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
		if asked && l.cleaned(checkpoints, seg.covered, next) {
			return segment{}, fmt.Errorf("version %d is cleaned up: %w", target, ErrVersionNotFound)
		}
		return segment{}, fmt.Errorf("commit %d is missing below %d: %w", next, target, ErrLogBroken)
	}
	for _, f := range l.files {
		if f.Kind == logpath.Compacted && f.Version > seg.covered && f.End <= target {
			seg.compacted = append(seg.compacted, f)
		}
	}
	return seg, nil
}

// cleaned reports whether a missing commit was deleted as one that is no longer
// needed: the log begins after it, or goes on from a later checkpoint. A cleanup
// that was interrupted leaves such rows of commits, and checkpoints without.
func (l listing) cleaned(checkpoints map[int64][]logpath.File, covered, missing int64) bool {
	if covered < 0 && missing == 0 {
		return true
	}
	for version := range checkpoints {
		if version >= missing {
			return true
		}
	}
	return false
}

// checkpoints groups complete checkpoints by version. Of several at one
// version the classic one is taken, then a V2 one, then a multipart one.
func (l listing) checkpoints() map[int64][]logpath.File {
	type parts struct {
		version int64
		parts   int
	}
	best := make(map[int64][]logpath.File)
	multi := make(map[parts][]logpath.File)
	for _, f := range l.files {
		switch f.Kind {
		case logpath.Checkpoint:
			best[f.Version] = []logpath.File{f}
		case logpath.V2:
			if have := best[f.Version]; len(have) == 0 {
				best[f.Version] = []logpath.File{f}
			}
		case logpath.Multipart:
			key := parts{f.Version, f.Parts}
			multi[key] = append(multi[key], f)
		}
	}
	for key, files := range multi {
		files = slices.CompactFunc(files, func(a, b logpath.File) bool { return a.Part == b.Part })
		have := best[key.version]
		if len(files) == key.parts && (len(have) == 0 || have[0].Kind == logpath.Multipart && have[0].Parts < key.parts) {
			best[key.version] = files
		}
	}
	return best
}
