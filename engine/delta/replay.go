package delta

import (
	"errors"
	"maps"

	"github.com/lakewarden/lakewarden/engine/delta/action"
	"github.com/lakewarden/lakewarden/engine/delta/logpath"
	"github.com/lakewarden/lakewarden/engine/objstore"
)

// state is the result of applying actions, oldest first (protocol, "Action
// Reconciliation").
type state struct {
	protocol *action.Protocol
	metadata *action.Metadata
	files    layered[*action.Add]
	tombs    layered[*action.Remove]
	txns     map[string]*action.Txn
	domains  map[string]*action.DomainMetadata
	bytes    int64
	// weight estimates the memory of files and tombs in bytes.
	weight int64

	// writer is the engine whose files are trusted to hold every column of the schema.
	// whole reports whether all live files are such files.
	writer string
	whole  bool
	folder folder
	// absolute reports whether the log has a file with an absolute path.
	absolute bool
	// base is [Snapshot.BaseVersion]. foreign is the newest commit that counts for
	// [Snapshot.ForeignSince], altered that for [Snapshot.AlteredSince].
	base, foreign, altered int64
	// damage is [Snapshot.Damage].
	damage error
}

// emptyState returns the state of a table before its first commit.
func emptyState(writer string, b objstore.Bucket) *state {
	st := new(state).fork()
	st.writer, st.whole, st.folder = writer, true, folder{b}
	st.base, st.foreign, st.altered = -1, -1, -1
	return st
}

// fork returns a copy that can change without affecting s.
func (s *state) fork() *state {
	f := *s
	f.files = s.files.fork()
	f.tombs = s.tombs.fork()
	f.txns = maps.Clone(s.txns)
	f.domains = maps.Clone(s.domains)
	if f.txns == nil {
		f.txns = make(map[string]*action.Txn)
	}
	if f.domains == nil {
		f.domains = make(map[string]*action.DomainMetadata)
	}
	return &f
}

// fileKey calls [folder.fileKey] and records absolute paths.
func (s *state) fileKey(path string, dv *action.DeletionVector) (string, error) {
	key, absolute, err := s.folder.fileKey(path, dv)
	s.absolute = s.absolute || absolute
	return key, err
}

// duplicate returns the name of an object that is live under two paths, or "" if there
// is none.
func (s *state) duplicate() string {
	last := ""
	for key := range s.files.all() {
		name := fileName(key)
		if name == last {
			return name
		}
		last = name
	}
	return ""
}

// apply applies one action. Errors: [ErrUnsafePath].
func (s *state) apply(a action.Action) error {
	switch a := a.(type) {
	case *action.Protocol:
		s.protocol = a
	case *action.Metadata:
		s.metadata = a
	case *action.Add:
		key, err := s.fileKey(a.Path, a.DeletionVector)
		if err != nil {
			return err
		}
		if old, had := s.files.put(key, a); had {
			s.bytes -= old.Size
			s.weight -= addWeight(old)
		}
		s.bytes += a.Size
		s.weight += addWeight(a)
		if old, had := s.tombs.drop(key); had {
			s.weight -= removeWeight(old)
		}
	case *action.Remove:
		key, err := s.fileKey(a.Path, a.DeletionVector)
		if err != nil {
			return err
		}
		if old, had := s.files.drop(key); had {
			s.bytes -= old.Size
			s.weight -= addWeight(old)
		}
		if old, had := s.tombs.put(key, a); had {
			s.weight -= removeWeight(old)
		}
		s.weight += removeWeight(a)
	case *action.CDC:
		_, _, err := s.folder.name(a.Path)
		return err
	case *action.Txn:
		s.txns[a.AppID] = a
	case *action.DomainMetadata:
		if a.Removed {
			delete(s.domains, a.Domain)
		} else {
			s.domains[a.Domain] = a
		}
	}
	return nil
}

// cloneOperation is the operation of commits that clone another table.
const cloneOperation = "CLONE"

func (s *state) applyCommit(c *commit) error {
	before := s.metadata
	for _, a := range c.actions {
		if err := s.apply(a); err != nil {
			if c.info().Operation == cloneOperation && errors.Is(err, logpath.ErrElsewhere) {
				return withReason(ReasonShallowClone, logpath.CommitName(c.version), err)
			}
			return withActionReason(ReasonCommitDamaged, logpath.CommitName(c.version), err)
		}
	}
	s.whole = s.wholeAfter(c, before)
	if c.foreignTo(s.writer) {
		s.foreign = c.version
		if c.alters() {
			s.altered = c.version
		}
	}
	return nil
}

// wholeAfter reports whether every live file holds every column after c was applied to
// a state with the metadata before. Other writers may omit nullable columns from files,
// and may restore files of an earlier schema.
func (s *state) wholeAfter(c *commit, before *action.Metadata) bool {
	added := s.liveAdds(c)
	own := c.info().EngineInfo == s.writer && s.addsWholeFiles(c, before)
	switch {
	case s.files.n == 0:
		return true
	case added == s.files.n:
		return own
	case !s.whole || added > 0 && !own:
		return false
	}
	return sameColumns(s.metadata, before)
}

// liveAdds returns the number of live files that c added.
func (s *state) liveAdds(c *commit) int {
	seen := make(map[*action.Add]bool)
	for _, a := range c.actions {
		add, ok := a.(*action.Add)
		if !ok {
			continue
		}
		key, err := s.fileKey(add.Path, add.DeletionVector)
		if live, ok := s.files.get(key); err == nil && ok {
			seen[live] = true
		}
	}
	return len(seen)
}

// compact compacts the maps after a batch of changes.
func (s *state) compact() {
	s.files.compact()
	s.tombs.compact()
}
