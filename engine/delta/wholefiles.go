package delta

import (
	"slices"

	"github.com/lakewarden/lakewarden/engine/delta/action"
)

// restoreOperation is the operation of commits that restore files of an earlier
// version.
const restoreOperation = "RESTORE"

// addsWholeFiles reports whether the files added by a commit of this engine hold every
// column of the schema. Files that the table had before, with another deletion vector
// or in an earlier version, were not written under this schema. They count only if they
// held every column before and the schema is the same.
func (s *state) addsWholeFiles(c *commit, before *action.Metadata) bool {
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

// sameColumns reports whether files that hold every column under one metadata also hold
// every column under the other, with the same names and types.
func sameColumns(a, b *action.Metadata) bool {
	if a == nil || b == nil || !slices.Equal(a.PartitionColumns, b.PartitionColumns) {
		return false
	}
	if a.SchemaString == b.SchemaString {
		return mapped(a.Configuration) == mapped(b.Configuration)
	}
	s, errA := ParseSchema(a.SchemaString)
	t, errB := ParseSchema(b.SchemaString)
	return errA == nil && errB == nil &&
		EqualTypes(stored(s, a.Configuration), stored(t, b.Configuration))
}

// stored returns the schema without what does not affect files: comments, other
// annotations and NOT NULL. It includes the physical names and type changes.
func stored(s Struct, properties map[string]string) DataType {
	naming := fileNaming(properties)
	return mapFields(s, func(f Field) Field {
		f.Name += "\x00" + naming(f)
		if changes, ok := f.Metadata[keyTypeChanges]; ok {
			f.Name += "\x00" + string(changes)
		}
		f.Nullable = true
		return f
	})
}
