package delta

import (
	"context"
	"errors"
	"fmt"

	"github.com/lakewarden/lakewarden/engine/delta/logpath"
	"github.com/lakewarden/lakewarden/engine/objstore"
)

// refreshSteps bounds the commits that Refresh reads one by one. Beyond it a
// checkpoint probably saves work.
const refreshSteps = 100

// Refresh returns the latest version, or s itself when there is none newer. An
// unchanged table costs two small requests at the same time: one for the commit
// of s, which must still be the one that was read, and one for the next.
//
// Errors: [ErrTableNotFound] when the table is gone, [ErrIdentityChanged] when
// another table took its place, [ErrLogBroken] when the commits that s was read
// from were replaced by others of the same table; else as [Load]. After any of
// the three the caller decides whether to Load anew.
func (s *Snapshot) Refresh(ctx context.Context) (*Snapshot, error) {
	type tail struct {
		next *commit
		err  error
	}
	probe := make(chan tail, 1)
	go func() {
		c, err := readCommit(ctx, s.bucket, s.version+1, s.opts.Limits)
		probe <- tail{c, err}
	}()
	headErr := s.checkHead(ctx)
	t := <-probe
	switch {
	case headErr != nil:
		return nil, fmt.Errorf("refreshing delta table: %w", headErr)
	case errors.Is(t.err, objstore.ErrNotFound):
		return s, nil
	case t.err != nil:
		return nil, fmt.Errorf("refreshing delta table: %w", t.err)
	}
	fresh, err := s.follow(ctx, t.next)
	if err != nil {
		return nil, fmt.Errorf("refreshing delta table: %w", err)
	}
	return fresh, nil
}

// checkHead makes sure that the commit s ends with is still in place. Without
// it a table that was deleted and written anew would be taken for the old one,
// and a commit of ours would land in the middle of nowhere.
func (s *Snapshot) checkHead(ctx context.Context) error {
	in, err := s.headIn(ctx, s.bucket)
	if err != nil || in {
		return err
	}
	return s.explainLoss(ctx)
}

// headIn reports whether a bucket holds the commit that s ends with. One that was
// cleaned up counts as held.
func (s *Snapshot) headIn(ctx context.Context, b objstore.Bucket) (bool, error) {
	known := s.head.object
	if known.Name == "" {
		return true, nil
	}
	now, err := b.Stat(ctx, known.Name)
	if err == nil && (now.Size != known.Size || !now.ModTime.Equal(known.ModTime)) {
		// A copy of the folder has other times but equal content.
		var c *commit
		if c, err = readCommit(ctx, b, s.version, s.opts.Limits); err == nil {
			return c.digest == s.head.digest, nil
		}
	}
	if errors.Is(err, objstore.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// explainLoss says what became of a table whose head is not what it was.
func (s *Snapshot) explainLoss(ctx context.Context) error {
	now, err := load(ctx, s.bucket, s.opts, -1)
	switch {
	case err != nil:
		return err
	case now.TableID() != s.TableID():
		return fmt.Errorf("table %s stands where %s stood: %w", now.TableID(), s.TableID(), ErrIdentityChanged)
	}
	return fmt.Errorf("commit %d vanished or was rewritten: %w", s.version, ErrLogBroken)
}

// follow applies next and every commit after it.
func (s *Snapshot) follow(ctx context.Context, next *commit) (*Snapshot, error) {
	commits := []*commit{next}
	for {
		c, err := readCommit(ctx, s.bucket, next.version+1, s.opts.Limits)
		if errors.Is(err, objstore.ErrNotFound) {
			break
		}
		if err != nil {
			return nil, err
		}
		if len(commits) == refreshSteps {
			return s.reload(ctx)
		}
		commits = append(commits, c)
		next = c
	}
	return s.advance(ctx, commits)
}

// reload reads from the newest checkpoint instead of following commits.
func (s *Snapshot) reload(ctx context.Context) (*Snapshot, error) {
	now, err := load(ctx, s.bucket, s.opts, -1)
	if err != nil {
		return nil, err
	}
	if now.TableID() != s.TableID() {
		return nil, fmt.Errorf("table %s stands where %s stood: %w", now.TableID(), s.TableID(), ErrIdentityChanged)
	}
	return now, nil
}

// advance applies commits that follow s without a gap.
func (s *Snapshot) advance(ctx context.Context, commits []*commit) (*Snapshot, error) {
	st := s.state.fork()
	for _, c := range commits {
		if m := c.metadata(); m != nil && m.ID != s.TableID() {
			return nil, fmt.Errorf("commit %d makes table %s of %s: %w", c.version, m.ID, s.TableID(), ErrIdentityChanged)
		}
		if err := st.applyCommit(c); err != nil {
			return nil, err
		}
	}
	head := commits[len(commits)-1]
	if head.object.Name == "" {
		object, err := s.bucket.Stat(ctx, logpath.CommitName(head.version))
		if err != nil {
			return nil, vanished(err)
		}
		head.object = object
	}
	next, err := newSnapshot(s.bucket, s.opts, head.version, st, head)
	if err != nil {
		return nil, err
	}
	next.derived.before = s.derived.latest()
	return next, nil
}
