package delta

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/lakewarden/lakewarden/engine/delta/action"
	"github.com/lakewarden/lakewarden/engine/delta/checkpoint"
	"github.com/lakewarden/lakewarden/engine/delta/logpath"
	"github.com/lakewarden/lakewarden/engine/objstore"
)

// Load reads a version of the table whose folder is the bucket's root. It does
// not judge whether the features allow reading: see [CheckReadable].
//
// Errors: [ErrTableNotFound], [ErrVersionNotFound], [ErrLogBroken],
// [ErrMalformed], [ErrTooLarge], [ErrUnsafePath], [ErrInvalidSchema],
// checkpoint.ErrCorrupt, and those of the bucket.
func Load(ctx context.Context, b objstore.Bucket, opts Options) (*Snapshot, error) {
	at := opts.At
	opts.At = At{}
	opts = opts.orDefault()
	target := int64(-1)
	switch {
	case at.version != nil:
		if *at.version < 0 {
			return nil, fmt.Errorf("version %d: %w", *at.version, ErrVersionNotFound)
		}
		target = *at.version
	case at.time != nil:
		version, err := versionAt(ctx, b, opts, *at.time)
		if err != nil {
			return nil, fmt.Errorf("loading delta table: %w", err)
		}
		target = version
	}
	s, err := load(ctx, b, opts, target)
	if err != nil {
		return nil, fmt.Errorf("loading delta table: %w", err)
	}
	return s, nil
}

func load(ctx context.Context, b objstore.Bucket, opts Options, target int64) (*Snapshot, error) {
	seg, err := findSegment(ctx, b, target)
	if err != nil {
		return nil, err
	}
	st := emptyState(opts.EngineInfo)
	st.whole = len(seg.checkpoint) == 0 // a checkpoint does not say who wrote its files
	head := &commit{version: seg.target}
	for _, f := range seg.checkpoint {
		if err := readCheckpoint(ctx, b, opts, f, st.apply); err != nil {
			return nil, vanished(err)
		}
	}
	err = readCommits(ctx, b, seg.commits, opts.Limits, func(c *commit) error {
		head = c
		return st.applyCommit(c)
	})
	if err != nil {
		return nil, vanished(err)
	}
	if seg.covered == seg.target && seg.head.object.Name != "" {
		if head, err = readHead(ctx, b, seg.target, opts.Limits); err != nil {
			return nil, vanished(err)
		}
		head.object = seg.head.object
	}
	for _, f := range seg.compacted {
		if err := checkCompacted(ctx, b, opts, f); err != nil {
			return nil, vanished(err)
		}
	}
	return newSnapshot(b, opts, seg.target, st, head)
}

// vanished turns the absence of a listed file into a broken log: someone
// deletes it while we read.
func vanished(err error) error {
	if errors.Is(err, objstore.ErrNotFound) {
		return fmt.Errorf("%w: %w", ErrLogBroken, err)
	}
	return err
}

// readCheckpoint yields the actions of one file of a checkpoint and of the
// sidecars that it names.
func readCheckpoint(ctx context.Context, b objstore.Bucket, opts Options, f logpath.File,
	apply func(action.Action) error,
) error {
	var sidecars []string
	take := func(a action.Action) error {
		if s, ok := a.(*action.Sidecar); ok {
			name, err := logpath.Sidecar(s.Path)
			sidecars = append(sidecars, name)
			return err
		}
		return apply(a)
	}
	if err := readActions(ctx, b, opts, f.Name, f.JSON, take); err != nil {
		return err
	}
	for _, name := range sidecars {
		if err := readActions(ctx, b, opts, name, false, apply); err != nil {
			return err
		}
	}
	return nil
}

func readActions(ctx context.Context, b objstore.Bucket, opts Options, name string, isJSON bool,
	take func(action.Action) error,
) error {
	body, err := readObject(ctx, b, name, opts.CheckpointBytes)
	if err != nil {
		return err
	}
	if !isJSON {
		if err := checkpoint.Read(ctx, bytes.NewReader(body), take); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	}
	actions, err := action.DecodeCommit(body, opts.Limits)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for _, a := range actions {
		if err := take(a); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// checkCompacted looks at a file that we do not need: the reader that scans
// the table may prefer it to the commits, so its paths must be safe too.
func checkCompacted(ctx context.Context, b objstore.Bucket, opts Options, f logpath.File) error {
	return readActions(ctx, b, opts, f.Name, true, new(state).fork().apply)
}
