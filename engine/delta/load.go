package delta

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/lakewarden/lakewarden/engine/delta/action"
	"github.com/lakewarden/lakewarden/engine/delta/checkpoint"
	"github.com/lakewarden/lakewarden/engine/delta/logpath"
	"github.com/lakewarden/lakewarden/engine/objstore"
)

// Load reads a version of the table whose folder is the bucket's root. It does not
// check that the table's features are supported: see [CheckReadable].
//
// Errors: [ErrTableNotFound], [ErrVersionNotFound], [ErrLogBroken], [ErrMalformed],
// [ErrTooLarge], [ErrUnsafePath], [ErrInvalidSchema], checkpoint.ErrCorrupt, and those
// of the bucket.
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

// load lists and reads the log. If a listed file does not exist when it is read, a
// cleanup may have deleted it after writing a newer checkpoint, so load lists the log
// once more.
func load(ctx context.Context, b objstore.Bucket, opts Options, target int64) (*Snapshot, error) {
	s, err := loadListed(ctx, b, opts, target)
	if errors.Is(err, objstore.ErrNotFound) {
		s, err = loadListed(ctx, b, opts, target)
	}
	return s, err
}

// loadListed reads the version from its newest checkpoint. If that is damaged, it uses
// an older one or the commits that it covers.
func loadListed(ctx context.Context, b objstore.Bucket, opts Options, target int64) (*Snapshot, error) {
	seg, l, all, err := findSegment(ctx, b, target)
	if err != nil {
		return nil, err
	}
	var known damage
	for {
		s, err := loadSegment(ctx, b, opts, seg, known.first)
		var unusable *unusableCheckpointError
		if !errors.As(err, &unusable) {
			return s, err
		}
		known.add(seg.checkpoint, unusable.err)
		if !all {
			if l, err = listLog(ctx, b, 0); err != nil {
				return nil, err
			}
			all = true
		}
		if seg, err = l.segment(target, &known); err != nil {
			return nil, err
		}
	}
}

// unusableCheckpointError wraps an error of reading a checkpoint without which the
// version may still be readable.
type unusableCheckpointError struct{ err error }

func (e *unusableCheckpointError) Error() string { return e.err.Error() }
func (e *unusableCheckpointError) Unwrap() error { return e.err }

// loadSegment reads the files of a segment. damage is the error of a damaged checkpoint
// that the segment avoids, or nil; [Snapshot.Damage] returns it.
func loadSegment(ctx context.Context, b objstore.Bucket, opts Options, seg segment, damage error) (*Snapshot, error) {
	st := emptyState(opts.EngineInfo, b)
	st.whole = len(seg.checkpoint) == 0 // a checkpoint does not record who wrote the files
	st.damage = damage
	head := &commit{version: seg.target}
	if len(seg.checkpoint) > 0 {
		err := st.takeCheckpoint(ctx, b, opts, seg)
		if replaceable(err) {
			return nil, &unusableCheckpointError{err}
		}
		if err != nil {
			return nil, err
		}
		st.base = seg.covered
	}
	err := readCommits(ctx, b, seg.commits, opts.Limits, func(c *commit) error {
		head = c
		return st.applyCommit(c)
	})
	if err != nil {
		return nil, missingAsBroken(err)
	}
	if seg.covered == seg.target && seg.head.object.Name != "" {
		if head, err = readHead(ctx, b, seg.target, opts.Limits); err != nil {
			return nil, missingAsBroken(err)
		}
		head.object = seg.head.object
	}
	for _, f := range seg.compacted {
		if err := checkCompacted(ctx, b, opts, f); err != nil {
			return nil, withActionReason(ReasonCommitDamaged, f.Name, err)
		}
	}
	return newSnapshot(b, opts, seg.target, st, head)
}

// takeCheckpoint fills s, which must be empty, from the segment's checkpoint. The
// number of files must equal that in the version's checksum file, if one exists. This
// detects a JSON checkpoint that was truncated between two lines.
func (s *state) takeCheckpoint(ctx context.Context, b objstore.Bucket, opts Options, seg segment) error {
	files := make(chan int64, 1)
	go func() { files <- checksumFiles(ctx, b, seg) }()
	base := new(bulk)
	err := readCheckpoint(ctx, b, opts, seg.checkpoint, func(batch []action.Action) error { return base.take(s, batch) })
	want := <-files
	if err != nil {
		return err
	}
	base.finish(s)
	damaged := func(what string) error {
		return withReason(ReasonCheckpointDamaged, seg.checkpoint[0].Name, fmt.Errorf("%s: %w", what, checkpoint.ErrCorrupt))
	}
	switch {
	case s.protocol == nil || s.metadata == nil:
		return damaged("no protocol or no metaData")
	case want >= 0 && want != int64(s.files.n):
		return damaged(fmt.Sprintf("%d files instead of %d", s.files.n, want))
	}
	return nil
}

// checksumFiles returns the number of files in the checksum file of the segment's
// checkpoint, or -1 if it cannot be read.
func checksumFiles(ctx context.Context, b objstore.Bucket, seg segment) int64 {
	const most = 16 << 20
	if !seg.checksum {
		return -1
	}
	body, err := readObject(ctx, b, logpath.ChecksumName(seg.covered), most, 0)
	stated := struct {
		NumFiles *int64 `json:"numFiles"`
	}{}
	if err != nil || json.Unmarshal(body, &stated) != nil || stated.NumFiles == nil {
		return -1
	}
	return *stated.NumFiles
}

// missingAsBroken adds [ErrLogBroken] to the error of a listed file that does not
// exist, because another process must have deleted it since the listing.
func missingAsBroken(err error) error {
	if errors.Is(err, objstore.ErrNotFound) {
		return fmt.Errorf("%w: %w", ErrLogBroken, err)
	}
	return err
}

// checkpointBytes bounds the size of the checkpoint files that are read ahead.
const checkpointBytes = 256 << 20

// readCheckpoint passes the actions of a checkpoint's files and their sidecars to take.
// It reads ahead. Errors: [RefusalError], and those of the bucket.
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
			name, err := folder{b}.sidecar(s.Path)
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
			body, err := readObject(ctx, b, files[i].Name, opts.CheckpointBytes, files[i].Size)
			return body, checkpointError(files[i], err)
		},
		use: func(i int, body []byte) error {
			return checkpointError(files[i], decodeActions(ctx, opts, files[i], body, take))
		},
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
