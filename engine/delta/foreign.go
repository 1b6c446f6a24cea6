package delta

import (
	"strings"

	"github.com/lakewarden/lakewarden/engine/delta/action"
)

// ForeignSince reports whether another writer may have changed rows, or the rules
// about rows, after the given version and up to this snapshot's. A commit is another
// writer's if its commitInfo names another engine; all releases of an engine are the
// same writer. Commits below a checkpoint count as foreign, because the checkpoint
// does not state their writers.
func (s *Snapshot) ForeignSince(version int64) bool {
	return s.state.foreign > version || s.state.base > version
}

// AlteredSince reports whether another writer has changed the metadata by a commit of its
// own, and not together with rows, after the given version. An ALTER TABLE does that; a
// write that merges the schema of its rows into that of the table does not. What a
// checkpoint covers is unknown, and does not count.
func (s *Snapshot) AlteredSince(version int64) bool { return s.state.altered > version }

// BaseVersion returns the version of the checkpoint from which this snapshot was
// loaded, or -1 if there was none. A refresh does not change it.
func (s *Snapshot) BaseVersion() int64 { return s.state.base }

// foreignTo reports whether c has another writer and can violate rules about rows.
// Removed files cannot, nor can files that only rearrange rows.
func (c *commit) foreignTo(writer string) bool {
	if engineName(c.info().EngineInfo) == engineName(writer) {
		return false
	}
	for _, a := range c.actions {
		switch a := a.(type) {
		case *action.Metadata:
			return true
		case *action.Add:
			if a.DataChange {
				return true
			}
		}
	}
	return false
}

// alters reports whether c changes metadata and adds no rows.
func (c *commit) alters() bool {
	alters := false
	for _, a := range c.actions {
		switch a := a.(type) {
		case *action.Metadata:
			alters = true
		case *action.Add:
			if a.DataChange {
				return false
			}
		}
	}
	return alters
}

// engineName returns an engineInfo without the engine's release.
func engineName(info string) string {
	name, _, _ := strings.Cut(info, "/")
	return name
}
