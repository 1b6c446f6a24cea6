package delta

import (
	"strings"

	"github.com/lakewarden/lakewarden/engine/delta/action"
)

// ForeignSince reports whether another writer may have changed rows, or the rules
// of rows, in a version above the given one, up to this snapshot's. A commit is
// another writer's if its commitInfo names another engine; releases of one engine
// are the same writer. Commits that were read from a checkpoint count: it does not
// say who wrote them.
func (s *Snapshot) ForeignSince(version int64) bool {
	return s.state.foreign > version || s.state.base > version
}

// BaseVersion is the version of the checkpoint from which this snapshot and those
// that it was refreshed from were loaded, -1 without one.
func (s *Snapshot) BaseVersion() int64 { return s.state.base }

// foreignTo reports whether c is of another writer and can break rules of rows.
// Removed files cannot, nor files that hold the rows of others.
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

// engineName is an engineInfo without the engine's release.
func engineName(info string) string {
	name, _, _ := strings.Cut(info, "/")
	return name
}
