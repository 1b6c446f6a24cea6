package maintenance

import (
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/pruning"
)

// columns are those of a table's data files, by the names in the files.
type columns struct {
	list     []engine.Column
	fieldIDs []engine.FieldID
	// ids are the field ids by which the columns are found; nil where it is by name.
	ids []int
	// parts are what the columns hold, where files must be looked into: members are
	// found by field id, or a file may have none of those that a struct has now.
	parts [][]engine.FieldID
	// uniform says that every file holds all columns, and as they are.
	uniform bool
}

// of is a list of data files, without their partition values.
func (c columns) of(files engine.FileGroup) *engine.FileList {
	list := engine.NewFileList(c.list, c.uniform, []engine.FileGroup{files})
	if c.ids != nil {
		list = list.WithStored(c.list).WithColumnIDs(c.ids)
	}
	if c.parts != nil {
		list = list.WithStored(c.list).WithParts(c.parts)
	}
	return list
}

// fileColumns describes the data files of a table that can be rewritten. The
// error is a [delta.FeatureError]: a table is refused whose files may hold
// something else than their reader would take them for.
func fileColumns(snap *delta.Snapshot) (columns, error) {
	refuse := func(feature, reason string) (columns, error) {
		return columns{}, &delta.FeatureError{Feature: feature, Write: true, Reason: reason}
	}
	var ids []int
	if !snap.FoundByName() {
		ids = snap.ColumnIDs()
	}
	switch {
	case !snap.FoundByName() && ids == nil:
		return refuse("columnMapping", "columns have no field ids")
	case snap.WidenedInside():
		return refuse("typeWidening", "files hold several types of what is nested in a column")
	}
	out := columns{uniform: snap.WholeFiles() && !snap.Widened()}
	for i, f := range snap.Schema().Fields {
		if !snap.InFiles(f) {
			continue
		}
		t, name := f.Type, f.Name
		if snap.Mapped() {
			t, name = inFiles(f.Type), f.PhysicalName()
		}
		out.list = append(out.list, engine.Column{Name: name, Type: delta.DuckDBType(t), Nullable: true})
		if ids != nil {
			out.ids = append(out.ids, ids[i])
		}
	}
	if snap.Mapped() {
		out.fieldIDs = pruning.FieldIDs(snap.FileColumns())
	}
	if ids != nil || snap.MembersReplaced() {
		for _, c := range out.fieldIDs {
			out.parts = append(out.parts, c.Children)
		}
	}
	return out, nil
}

// inFiles is a type with the names that mapped files use.
func inFiles(t delta.DataType) delta.DataType {
	switch t := t.(type) {
	case delta.Array:
		t.Element = inFiles(t.Element)
		return t
	case delta.Map:
		t.Key, t.Value = inFiles(t.Key), inFiles(t.Value)
		return t
	case delta.Struct:
		fields := make([]delta.Field, len(t.Fields))
		for i, f := range t.Fields {
			fields[i] = f
			fields[i].Name, fields[i].Type = f.PhysicalName(), inFiles(f.Type)
		}
		return delta.Struct{Fields: fields}
	}
	return t
}

// names are the columns in SQL.
func (c columns) names() string {
	quoted := make([]string, len(c.list))
	for i, column := range c.list {
		quoted[i] = engine.QuoteIdent(column.Name)
	}
	return strings.Join(quoted, ", ")
}
