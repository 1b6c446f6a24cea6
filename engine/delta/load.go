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

// load lists and reads the log. A file that was gone when it was to be read may
// have been cleaned up behind a newer checkpoint: the second listing tells.
func load(ctx context.Context, b objstore.Bucket, opts Options, target int64) (*Snapshot, error) {
	s, err := loadListed(ctx, b, opts, target)
	if errors.Is(err, objstore.ErrNotFound) {
		s, err = loadListed(ctx, b, opts, target)
	}
	return s, err
}

func loadListed(ctx context.Context, b objstore.Bucket, opts Options, target int64) (*Snapshot, error) {
	seg, err := findSegment(ctx, b, target)
	if err != nil {
		return nil, err
	}
	st := emptyState(opts.EngineInfo)
	st.whole = len(seg.checkpoint) == 0 // a checkpoint does not say who wrote its files
	head := &commit{version: seg.target}
	if len(seg.checkpoint) > 0 {
		base := new(bulk)
		err := readCheckpoint(ctx, b, opts, seg.checkpoint, func(batch []action.Action) error { return base.take(st, batch) })
		if err != nil {
			return nil, vanished(err)
		}
		base.finish(st)
		st.base = seg.covered
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
			return nil, err
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

// checkpointBytes bounds the files of a checkpoint that are read ahead.
const checkpointBytes = 256 << 20

// readCheckpoint takes the actions of the files of a checkpoint and of the
// sidecars that they name. The next files are on their way meanwhile.
func readCheckpoint(ctx context.Context, b objstore.Bucket, opts Options, files []logpath.File,
	take func([]action.Action) error,
) error {
	var sidecars []logpath.File
	own := func(batch []action.Action) error {
		for _, a := range batch {
			s, ok := a.(*action.Sidecar)
			if !ok {
				continue
			}
			name, err := logpath.Sidecar(s.Path)
			if err != nil {
				return err
			}
			sidecars = append(sidecars, logpath.File{Name: name})
		}
		return take(batch)
	}
	if err := readEach(ctx, b, opts, files, own); err != nil {
		return err
	}
	return readEach(ctx, b, opts, sidecars, take)
}

func readEach(ctx context.Context, b objstore.Bucket, opts Options, files []logpath.File,
	take func([]action.Action) error,
) error {
	p := pipeline[[]byte]{
		n: len(files), ahead: 4, room: checkpointBytes,
		size: func(i int) int64 { return files[i].Size },
		fetch: func(ctx context.Context, i int) ([]byte, error) {
			return readObject(ctx, b, files[i].Name, opts.CheckpointBytes, files[i].Size)
		},
		use: func(i int, body []byte) error { return decodeActions(ctx, opts, files[i], body, take) },
	}
	return p.run(ctx)
}

func decodeActions(ctx context.Context, opts Options, f logpath.File, body []byte, take func([]action.Action) error) error {
	var err error
	if f.JSON {
		var actions []action.Action
		if actions, err = action.DecodeCommit(body, opts.Limits); err == nil {
			err = take(actions)
		}
	} else {
		err = checkpoint.Read(ctx, bytes.NewReader(body), take)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", f.Name, err)
	}
	return nil
}
