package delta

import (
	"context"
	"errors"
	"fmt"

	"github.com/lakewarden/lakewarden/engine/delta/logpath"
	"github.com/lakewarden/lakewarden/engine/objstore"
)

// refreshSteps bounds the commits that Refresh reads one by one. For more of them,
// reading a checkpoint is probably cheaper.
const refreshSteps = 100

// Refresh returns the latest version, or s itself if it is the latest. For an unchanged
// table it sends two small requests concurrently: one checks that the commit of s is
// unchanged, the other asks for the next commit.
//
// Errors: [ErrTableNotFound] if the table no longer exists, [ErrIdentityChanged] if
// another table replaced it, [ErrLogBroken] if the commits of s were replaced by others
// of the same table; otherwise those of [Load]. After these three the caller decides
// whether to Load again.
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

// checkHead makes sure that the last commit of s is unchanged. Otherwise a table that
// was deleted and created again would be taken for the old one, and a new commit could
// leave a gap in its log.
func (s *Snapshot) checkHead(ctx context.Context) error {
	in, err := s.headIn(ctx, s.bucket)
	if err != nil || in {
		return err
	}
	return s.explainLoss(ctx)
}

// headIn reports whether a bucket holds the last commit of s. A commit that was cleaned
// up counts as held.
func (s *Snapshot) headIn(ctx context.Context, b objstore.Bucket) (bool, error) {
	known := s.head.object
	if known.Name == "" {
		return true, nil
	}
	now, err := b.Stat(ctx, known.Name)
	if err == nil && (now.Size != known.Size || !now.ModTime.Equal(known.ModTime)) {
		// A copy of the folder has other modification times but the same content.
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

// explainLoss returns the reason why the last commit of s is missing or changed.
func (s *Snapshot) explainLoss(ctx context.Context) error {
	now, err := load(ctx, s.bucket, s.opts, -1)
	switch {
	case err != nil:
		return err
	case now.TableID() != s.TableID():
		return fmt.Errorf("table %s replaced table %s: %w", now.TableID(), s.TableID(), ErrIdentityChanged)
	}
	return fmt.Errorf("commit %d is missing or was rewritten: %w", s.version, ErrLogBroken)
}

// follow applies next and all commits after it.
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

// reload loads from the newest checkpoint instead of applying commits one by one.
func (s *Snapshot) reload(ctx context.Context) (*Snapshot, error) {
	now, err := load(ctx, s.bucket, s.opts, -1)
	if err != nil {
		return nil, err
	}
	if now.TableID() != s.TableID() {
		return nil, fmt.Errorf("table %s replaced table %s: %w", now.TableID(), s.TableID(), ErrIdentityChanged)
	}
	return now, nil
}

// advance applies commits that follow s without a gap.
func (s *Snapshot) advance(ctx context.Context, commits []*commit) (*Snapshot, error) {
	st := s.state.fork()
	for _, c := range commits {
		if m := c.metadata(); m != nil && m.ID != s.TableID() {
			return nil, fmt.Errorf("commit %d replaces the table by %s, formerly %s: %w", c.version, m.ID, s.TableID(), ErrIdentityChanged)
		}
		if err := st.applyCommit(c); err != nil {
			return nil, err
		}
	}
	head := commits[len(commits)-1]
	if head.object.Name == "" {
		object, err := s.bucket.Stat(ctx, logpath.CommitName(head.version))
		if err != nil {
			return nil, missingAsBroken(err)
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
