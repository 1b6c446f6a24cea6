package delta

import (
	"slices"

	"github.com/lakewarden/lakewarden/engine/delta/action"
)

// restoreOperation is the name of commits that bring old files back.
const restoreOperation = "RESTORE"

// tells reports whether the adds of a commit of our own say that their files
// hold every column of the schema. Those of files that the table had before,
// under another deletion vector or in an earlier version, were not written for
// this schema: they say so only if it was known, and of the same schema.
func (s *state) tells(c *commit, before *action.Metadata) bool {
	if c.info().Operation == restoreOperation {
		return false
	}
	removed := make(map[string]bool)
	for _, a := range c.actions {
		if r, ok := a.(*action.Remove); ok {
			removed[r.Path] = true
		}
	}
	for _, a := range c.actions {
		if add, ok := a.(*action.Add); ok && removed[add.Path] {
			return s.whole && sameColumns(s.metadata, before)
		}
	}
	return true
}

func sameColumns(a, b *action.Metadata) bool {
	return a != nil && b != nil && a.SchemaString == b.SchemaString &&
		slices.Equal(a.PartitionColumns, b.PartitionColumns)
}
