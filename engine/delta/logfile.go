package delta

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"golang.org/x/sync/errgroup"

	"github.com/lakewarden/lakewarden/engine/delta/action"
	"github.com/lakewarden/lakewarden/engine/delta/logpath"
	"github.com/lakewarden/lakewarden/engine/objstore"
)

// commit is one version's file, decoded.
type commit struct {
	version int64
	actions []action.Action
	digest  [sha256.Size]byte
	// object is zero until somebody asked the store.
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

// readObject reads a whole object of at most limit bytes.
func readObject(ctx context.Context, b objstore.Bucket, name string, limit int64) ([]byte, error) {
	r, err := b.Get(ctx, name)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err = errors.Join(err, r.Close()); err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	if int64(len(body)) > limit {
		return nil, fmt.Errorf("reading %s: %w", name, ErrTooLarge)
	}
	return body, nil
}

// readCommit reads and decodes one version. The error is objstore.ErrNotFound
// when there is no such commit.
func readCommit(ctx context.Context, b objstore.Bucket, version int64, limits action.Limits) (*commit, error) {
	name := logpath.CommitName(version)
	body, err := readObject(ctx, b, name, int64(limits.CommitBytes))
	if err != nil {
		return nil, err
	}
	return decodeCommit(version, body, limits)
}

// decodeCommit refuses a file without content: no writer makes one, and to take
// it for a commit that changed nothing would hide rows whose commit was torn.
func decodeCommit(version int64, body []byte, limits action.Limits) (*commit, error) {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, fmt.Errorf("commit %d is empty: %w", version, ErrMalformed)
	}
	actions, err := action.DecodeCommit(body, limits)
	if err != nil {
		return nil, fmt.Errorf("commit %d: %w", version, err)
	}
	return &commit{version: version, actions: actions, digest: sha256.Sum256(body)}, nil
}

// readHead reads of a commit that a checkpoint covers only what the checkpoint
// does not hold: its commitInfo, and the digest of its bytes.
func readHead(ctx context.Context, b objstore.Bucket, version int64, limits action.Limits) (*commit, error) {
	body, err := readObject(ctx, b, logpath.CommitName(version), int64(limits.CommitBytes))
	if err != nil {
		return nil, err
	}
	head := &commit{version: version, digest: sha256.Sum256(body)}
	for line := range bytes.Lines(body) {
		if !bytes.HasPrefix(line, []byte(`{"commitInfo"`)) {
			continue
		}
		head.actions, err = action.DecodeCommit(line, limits)
		if err != nil {
			return nil, fmt.Errorf("commit %d: %w", version, err)
		}
		break
	}
	return head, nil
}

// Bounds of what is read at a time: commits, and bytes of them.
const (
	commitWindow      = 8
	commitWindowBytes = 64 << 20
)

// window takes the next commits to read together, at least one.
func window(objects []versioned) int {
	n, bytes := 0, int64(0)
	for n < len(objects) && n < commitWindow {
		if bytes += objects[n].object.Size; n > 0 && bytes > commitWindowBytes {
			break
		}
		n++
	}
	return n
}

// readCommits reads the versions of objects, in order, and hands each to apply.
// Requests overlap; a log of many small commits is bound by latency.
func readCommits(ctx context.Context, b objstore.Bucket, objects []versioned, limits action.Limits,
	apply func(*commit) error,
) error {
	for len(objects) > 0 {
		n := window(objects)
		batch := make([]*commit, n)
		g, gctx := errgroup.WithContext(ctx)
		for i, o := range objects[:n] {
			g.Go(func() error {
				c, err := readCommit(gctx, b, o.version, limits)
				if err != nil {
					return err
				}
				c.object = o.object
				batch[i] = c
				return nil
			})
		}
		if err := g.Wait(); err != nil {
			return err
		}
		for _, c := range batch {
			if err := apply(c); err != nil {
				return err
			}
		}
		objects = objects[n:]
	}
	return nil
}
