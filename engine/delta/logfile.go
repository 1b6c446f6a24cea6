package delta

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"github.com/lakewarden/lakewarden/engine/delta/action"
	"github.com/lakewarden/lakewarden/engine/delta/logpath"
	"github.com/lakewarden/lakewarden/engine/objstore"
)

// commit is the decoded commit of one version.
type commit struct {
	version int64
	actions []action.Action
	digest  [sha256.Size]byte
	// object is zero if the commit was not listed.
	object objstore.Object
}

// info returns the commitInfo, or an empty one.
func (c *commit) info() *action.CommitInfo {
	for _, a := range c.actions {
		if info, ok := a.(*action.CommitInfo); ok {
			return info
		}
	}
	return new(action.CommitInfo)
}

func (c *commit) metadata() *action.Metadata {
	for _, a := range c.actions {
		if m, ok := a.(*action.Metadata); ok {
			return m
		}
	}
	return nil
}

// readObject reads an object of at most limit bytes. size is the size according to a
// listing, or zero if unknown.
func readObject(ctx context.Context, b objstore.Bucket, name string, limit, size int64) ([]byte, error) {
	r, err := b.Get(ctx, name)
	if err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	if size > 0 && size <= limit {
		buf.Grow(int(size) + bytes.MinRead)
	}
	_, err = buf.ReadFrom(io.LimitReader(r, limit+1))
	if err = errors.Join(err, r.Close()); err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	if int64(buf.Len()) > limit {
		return nil, fmt.Errorf("reading %s: %w", name, ErrTooLarge)
	}
	return buf.Bytes(), nil
}

// readCommit reads and decodes the commit of a version. The error is
// objstore.ErrNotFound if it does not exist.
func readCommit(ctx context.Context, b objstore.Bucket, version int64, limits action.Limits) (*commit, error) {
	return readSized(ctx, b, version, limits, 0)
}

func readSized(ctx context.Context, b objstore.Bucket, version int64, limits action.Limits, size int64) (*commit, error) {
	body, err := readObject(ctx, b, logpath.CommitName(version), int64(limits.CommitBytes), size)
	if err != nil {
		return nil, withActionReason(ReasonCommitDamaged, logpath.CommitName(version), err)
	}
	return decodeCommit(version, body, limits)
}

// decodeCommit refuses an empty file. No writer creates one, and treating a truncated
// commit as one without changes would hide its rows.
func decodeCommit(version int64, body []byte, limits action.Limits) (*commit, error) {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, withReason(ReasonCommitDamaged, logpath.CommitName(version), fmt.Errorf("the file is empty: %w", ErrMalformed))
	}
	actions, err := action.DecodeCommit(body, limits)
	if err != nil {
		return nil, withActionReason(ReasonCommitDamaged, logpath.CommitName(version), err)
	}
	return &commit{version: version, actions: actions, digest: sha256.Sum256(body)}, nil
}

// readHead reads the parts of a commit that the checkpoint covering it lacks: its
// commitInfo and the digest of its bytes. It holds one line in memory, not the whole
// commit.
func readHead(ctx context.Context, b objstore.Bucket, version int64, limits action.Limits) (*commit, error) {
	name := logpath.CommitName(version)
	r, err := b.Get(ctx, name)
	if err != nil {
		return nil, err
	}
	info, digest, err := scanHead(r, limits)
	if err = errors.Join(err, r.Close()); err != nil {
		return nil, withActionReason(ReasonCommitDamaged, name, fmt.Errorf("reading %s: %w", name, err))
	}
	head := &commit{version: version, digest: digest}
	if info != nil {
		if head.actions, err = action.DecodeCommit(info, limits); err != nil {
			return nil, withActionReason(ReasonCommitDamaged, name, err)
		}
	}
	return head, nil
}

// scanHead returns the line of the commitInfo and the digest of the whole commit.
func scanHead(r io.Reader, limits action.Limits) (info []byte, digest [sha256.Size]byte, err error) {
	const ahead = 256 << 10
	h := sha256.New()
	lines := bufio.NewReaderSize(io.TeeReader(io.LimitReader(r, int64(limits.CommitBytes)+1), h), ahead)
	total, starts, wanted := 0, true, false
	var line []byte
	for {
		part, err := lines.ReadSlice('\n')
		total += len(part)
		if starts {
			wanted = info == nil && bytes.HasPrefix(part, []byte(`{"commitInfo"`))
		}
		if wanted {
			if line = append(line, part...); len(line) > limits.LineBytes+1 {
				return nil, digest, ErrTooLarge
			}
		}
		starts = err == nil
		if wanted && (starts || err == io.EOF) {
			info, wanted = line, false
		}
		switch {
		case err == io.EOF && total > limits.CommitBytes:
			return nil, digest, ErrTooLarge
		case err == io.EOF:
			h.Sum(digest[:0])
			return info, digest, nil
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return nil, digest, err
		}
	}
}

// Bounds for reading ahead: number of commits, and their bytes.
const (
	commitsAhead     = 8
	commitBytesAhead = 64 << 20
)

// readCommits reads the listed commits and passes them to apply in order. Requests are
// concurrent, because a log of many small commits is bound by latency.
func readCommits(ctx context.Context, b objstore.Bucket, objects []versioned, limits action.Limits,
	apply func(*commit) error,
) error {
	p := pipeline[*commit]{
		n: len(objects), ahead: commitsAhead, room: commitBytesAhead,
		size: func(i int) int64 { return objects[i].object.Size },
		fetch: func(ctx context.Context, i int) (*commit, error) {
			return readSized(ctx, b, objects[i].version, limits, objects[i].object.Size)
		},
		use: func(i int, c *commit) error {
			c.object = objects[i].object
			return apply(c)
		},
	}
	return p.run(ctx)
}
