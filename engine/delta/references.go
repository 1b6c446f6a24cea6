package delta

import (
	"context"
	"slices"
	"time"

	"github.com/lakewarden/lakewarden/engine/delta/action"
)

// DeletedFileRetention returns how long files of old versions are retained, according
// to the table's property.
func (s *Snapshot) DeletedFileRetention() time.Duration {
	return s.interval(propDeletedRetention, defaultDeletedRetention)
}

// DeletedFileRetention returns the retention of the altered table.
func (a *Alteration) DeletedFileRetention() time.Duration {
	return intervalIn(a.config, propDeletedRetention, defaultDeletedRetention)
}

// LogRetention returns how long the commits of old versions are retained, according to
// the table's property.
func (s *Snapshot) LogRetention() time.Duration {
	return s.interval(propLogRetention, defaultLogRetention)
}

// LogRetention returns the retention of the altered table.
func (a *Alteration) LogRetention() time.Duration {
	return intervalIn(a.config, propLogRetention, defaultLogRetention)
}

// EachReferenced calls visit with the decoded name of every data file and deletion
// vector file that a version references, possibly more than once. The versions are s
// and those that were the latest at or after since. The zero time includes every
// version that can still be read.
//
// Checkpoints omit removals that are older than the table's own retention. If since is
// before that, the whole log is read.
func (s *Snapshot) EachReferenced(ctx context.Context, since time.Time, visit func(name string)) error {
	for f := range s.Files() {
		if err := s.state.folder.visit(f.Add.Path, f.Add.DeletionVector, visit); err != nil {
			return err
		}
	}
	for r := range s.Tombstones() {
		if r.DeletedAt() < since.UnixMilli() && !since.IsZero() {
			continue
		}
		if err := s.state.folder.visit(r.Path, r.DeletionVector, visit); err != nil {
			return err
		}
	}
	if !since.Before(s.opts.Clock().Add(-s.DeletedFileRetention())) {
		return nil
	}
	return s.eachLogged(ctx, visit)
}

// EachRemoved calls visit with the decoded name of every file that has a remove action
// in the log or the snapshot, possibly more than once. Such a file may be live again.
func (s *Snapshot) EachRemoved(ctx context.Context, visit func(name string)) error {
	for r := range s.Tombstones() {
		if err := s.state.folder.visit(r.Path, r.DeletionVector, visit); err != nil {
			return err
		}
	}
	commits, err := listCommits(ctx, s.bucket, 0, s.version)
	if err != nil {
		return err
	}
	return missingAsBroken(readCommits(ctx, s.bucket, commits, s.opts.Limits, func(c *commit) error {
		for _, a := range c.actions {
			if r, ok := a.(*action.Remove); ok {
				if err := s.state.folder.visit(r.Path, r.DeletionVector, visit); err != nil {
					return err
				}
			}
		}
		return nil
	}))
}

// eachLogged visits the files of all versions that can be read: those of the first
// checkpoint in each gapless sequence of commits, and those added since.
func (s *Snapshot) eachLogged(ctx context.Context, visit func(name string)) error {
	l, err := listLog(ctx, s.bucket, 0)
	if err != nil {
		return err
	}
	checkpoints := l.checkpoints()
	covered := int64(-1) // the last version whose files have been visited
	for _, version := range sortedKeys(checkpoints) {
		if version > s.version || version <= covered {
			continue
		}
		covered = lastContiguous(l.commits, covered)
		if version <= covered {
			continue
		}
		err := readCheckpoint(ctx, s.bucket, s.opts, checkpoints[version], func(batch []action.Action) error {
			return s.state.folder.visitActions(batch, visit)
		})
		if err != nil {
			return missingAsBroken(err)
		}
		covered = version
	}
	return missingAsBroken(readCommits(ctx, s.bucket, l.commits, s.opts.Limits, func(c *commit) error {
		return s.state.folder.visitActions(c.actions, visit)
	}))
}

// lastContiguous returns the last version of the gapless sequence of commits that follows
// version.
func lastContiguous(commits []versioned, version int64) int64 {
	i, _ := slices.BinarySearchFunc(commits, version+1, func(c versioned, v int64) int { return int(c.version - v) })
	for ; i < len(commits) && commits[i].version == version+1; i++ {
		version++
	}
	return version
}

func sortedKeys[T any](m map[int64]T) []int64 {
	keys := make([]int64, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func (f folder) visitActions(actions []action.Action, visit func(name string)) error {
	for _, a := range actions {
		add, ok := a.(*action.Add)
		if !ok {
			continue
		}
		if err := f.visit(add.Path, add.DeletionVector, visit); err != nil {
			return err
		}
	}
	return nil
}

func (f folder) visit(path string, dv *action.DeletionVector, visit func(name string)) error {
	name, _, err := f.name(path)
	if err != nil {
		return err
	}
	visit(name)
	if dv == nil || dv.StorageType == storedInline {
		return nil
	}
	if name, err = f.vectorName(dv); err != nil {
		return err
	}
	visit(name)
	return nil
}
