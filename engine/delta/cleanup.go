package delta

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sort"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/lakewarden/lakewarden/engine/delta/action"
	"github.com/lakewarden/lakewarden/engine/delta/logpath"
	"github.com/lakewarden/lakewarden/engine/objstore"
)

// Properties and limits of log cleanup.
const (
	propLogCleanup      = "delta.enableExpiredLogCleanup"
	defaultLogRetention = 30 * 24 * time.Hour
	// sidecarAge is the age below which an unreferenced sidecar is not deleted, because
	// its checkpoint may not be written yet (protocol, "Metadata Cleanup").
	sidecarAge = 24 * time.Hour
	// maxCleaned bounds the deletions of one cleanup. The next cleanup continues.
	maxCleaned = 4000
	// cleaners is the number of concurrent deletions.
	cleaners = 8
)

// CleanLog deletes the files of the log that are only needed for versions older than
// delta.logRetentionDuration, and returns their number. Commits call it after a
// checkpoint. It does nothing if delta.enableExpiredLogCleanup is false.
//
// Before it deletes commits it reads back a complete checkpoint that is itself older
// than the retention and covers them. It can be interrupted at any point.
func (s *Snapshot) CleanLog(ctx context.Context) (int, error) {
	if strings.EqualFold(s.Properties()[propLogCleanup], "false") {
		return 0, nil
	}
	stale, err := s.staleFiles(ctx)
	if err == nil {
		err = s.deleteAll(ctx, stale)
	}
	if err != nil {
		return 0, fmt.Errorf("cleaning the log: %w", err)
	}
	if !supports(s.state.protocol, featV2Checkpoint) {
		return len(stale), nil
	}
	sidecars, err := s.staleSidecars(ctx)
	if err == nil {
		err = s.deleteAll(ctx, sidecars)
	}
	if err != nil {
		return len(stale), fmt.Errorf("cleaning sidecars: %w", err)
	}
	return len(stale) + len(sidecars), nil
}

// logCutoff returns the time from which on versions must stay readable. It is truncated
// to whole days, so that a table with many commits is cleaned up once a day.
func (s *Snapshot) logCutoff() time.Time {
	const day = 24 * time.Hour
	return s.opts.Clock().UTC().Add(-s.LogRetention()).Truncate(day)
}

// staleFiles returns the names of the files before the newest checkpoint that existed
// at the cutoff. The time of the checkpoint's version must not depend on older
// versions: otherwise deleting them would make it earlier.
func (s *Snapshot) staleFiles(ctx context.Context) ([]string, error) {
	l, err := s.expiredLog(ctx)
	if err != nil || len(l.commits) == 0 {
		return nil, err
	}
	cover := int64(-1)
	for version := range l.checkpoints() {
		if l.independent[version] {
			cover = max(cover, version)
		}
	}
	var names []string
	for _, c := range l.commits {
		if c.version < cover {
			names = append(names, c.object.Name)
		}
	}
	for _, f := range l.files {
		if f.Version < cover || f.Kind == logpath.Compacted && f.Version == cover {
			names = append(names, f.Name)
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	if err := s.checkCover(ctx, l.listing, cover); err != nil {
		return nil, fmt.Errorf("reading checkpoint %d: %w", cover, err)
	}
	sort.Strings(names)
	return names[:min(len(names), maxCleaned)], nil
}

// checkCover makes sure that every checkpoint of a version can be read. Loading the
// version does not prove this, because a damaged checkpoint is replaced by the commits,
// which are about to be deleted.
func (s *Snapshot) checkCover(ctx context.Context, l listing, version int64) error {
	for _, set := range l.sets() {
		if set.version() != version {
			continue
		}
		seg := segment{target: version, covered: version, checkpoint: set, checksum: l.hasChecksum(version)}
		if _, err := loadSegment(ctx, s.bucket, s.opts, seg, nil); err != nil {
			return err
		}
	}
	return nil
}

// expired is the part of a log before the cutoff.
type expired struct {
	listing
	// independent holds the versions whose times do not depend on older versions.
	independent map[int64]bool
}

// expiredLog lists the log up to the first commit that is not older than the cutoff.
func (s *Snapshot) expiredLog(ctx context.Context) (l expired, err error) {
	cutoff, before := s.logCutoff(), time.Time{}
	for o, err := range s.bucket.List(ctx, logpath.Dir, objstore.ListOptions{Shallow: true}) {
		if err != nil {
			return expired{}, err
		}
		f := logpath.Parse(o.Name)
		if f.Kind == logpath.Commit {
			// A commit's time is at least the latest modification time so far, unless
			// an in-commit timestamp lowers it. Stopping too early only keeps files.
			if at := modified(versioned{object: o}); at.After(before) {
				before = at
			}
			if before.After(cutoff) || f.Version > s.version {
				break
			}
		}
		l.add(f, o)
	}
	c, err := s.clockOf(ctx, l.commits)
	if err != nil {
		return expired{}, err
	}
	n, err := c.find(ctx, cutoff)
	if err != nil {
		return expired{}, err
	}
	l.commits, l.independent = l.commits[:n], make(map[int64]bool, n)
	for i, commit := range l.commits {
		l.independent[commit.version] = i >= len(c.raised) || !c.raised[i]
	}
	return l, nil
}

// deleteAll deletes several files at a time, oldest first. If it is interrupted, the
// oldest versions can no longer be read and all others can.
func (s *Snapshot) deleteAll(ctx context.Context, names []string) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(cleaners)
	for _, name := range names {
		g.Go(func() error { return s.bucket.Delete(ctx, name) })
	}
	return g.Wait()
}

// staleSidecars returns the names of old sidecars that no checkpoint references.
func (s *Snapshot) staleSidecars(ctx context.Context) ([]string, error) {
	old := map[string]bool{}
	limit := s.opts.Clock().Add(-sidecarAge)
	for o, err := range s.bucket.List(ctx, logpath.SidecarDir, objstore.ListOptions{Shallow: true}) {
		if err != nil {
			return nil, err
		}
		if o.ModTime.Before(limit) && !strings.HasSuffix(o.Name, "/") && len(old) < maxCleaned {
			old[o.Name] = true
		}
	}
	if len(old) == 0 {
		return nil, nil
	}
	l, err := listLog(ctx, s.bucket, 0)
	if err != nil {
		return nil, err
	}
	for _, f := range l.files {
		if f.Kind != logpath.Checkpoint && f.Kind != logpath.V2 {
			continue
		}
		used, err := s.sidecarsOf(ctx, f)
		if err != nil {
			return nil, err
		}
		for _, name := range used {
			delete(old, name)
		}
	}
	names := make([]string, 0, len(old))
	for name := range maps.Keys(old) {
		names = append(names, name)
	}
	return names, nil
}

// sidecarsOf returns the names of the sidecars that one file of a checkpoint
// references. It returns none if the file was deleted meanwhile.
func (s *Snapshot) sidecarsOf(ctx context.Context, f logpath.File) ([]string, error) {
	var names []string
	err := readEach(ctx, s.bucket, s.opts, []logpath.File{f}, func(batch []action.Action) error {
		for _, a := range batch {
			sidecar, ok := a.(*action.Sidecar)
			if !ok {
				continue
			}
			name, err := folder{s.bucket}.sidecar(sidecar.Path)
			if err != nil {
				return err
			}
			names = append(names, name)
		}
		return nil
	})
	if errors.Is(err, objstore.ErrNotFound) {
		return nil, nil
	}
	return names, err
}
