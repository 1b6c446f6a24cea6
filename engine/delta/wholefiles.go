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

// sameColumns reports whether files that hold every column under one metadata
// hold every column under the other, with the same names and types.
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

// stored is a schema as readers of files see it: comments, annotations and NOT
// NULL are nothing to them, other names in files are.
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
