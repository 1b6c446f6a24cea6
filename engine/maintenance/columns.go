package maintenance

import (
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/deltasql"
	"github.com/lakewarden/lakewarden/engine/pruning"
)

// columns are the columns of a table's data files, by their names in the files.
type columns struct {
	list     []engine.Column
	fieldIDs []engine.FieldID
	// foundByID are the field ids by which readers find the columns; nil means that
	// they find them by name.
	foundByID []int
	// parts are the members of the columns. It is set if readers have to inspect
	// files: members are found by field id, or a file may have none of a struct's
	// current members.
	parts [][]engine.FieldID
	// uniform says that every file has all columns, with their current types.
	uniform bool
}

// listOf returns a list of data files without their partition values.
func (c columns) listOf(files engine.FileGroup) *engine.FileList {
	list := engine.NewFileList(c.list, c.uniform, []engine.FileGroup{files})
	if c.foundByID != nil {
		list = list.WithStored(c.list).WithColumnIDs(c.foundByID)
	}
	if c.parts != nil {
		list = list.WithStored(c.list).WithParts(c.parts)
	}
	return list
}

// fileColumns returns the columns of a table's data files. The error is a
// [delta.FeatureError] if the engine could misread files of the table.
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
			t, name = typeInFiles(f.Type), f.PhysicalName()
		}
		out.list = append(out.list, engine.Column{Name: name, Type: deltasql.Type(t), Nullable: true})
		if ids != nil {
			out.foundByID = append(out.foundByID, ids[i])
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

// typeInFiles returns a type with the names that files of a table with column
// mapping use.
func typeInFiles(t delta.DataType) delta.DataType {
	switch t := t.(type) {
	case delta.Array:
		t.Element = typeInFiles(t.Element)
		return t
	case delta.Map:
		t.Key, t.Value = typeInFiles(t.Key), typeInFiles(t.Value)
		return t
	case delta.Struct:
		fields := make([]delta.Field, len(t.Fields))
		for i, f := range t.Fields {
			fields[i] = f
			fields[i].Name, fields[i].Type = f.PhysicalName(), typeInFiles(f.Type)
		}
		return delta.Struct{Fields: fields}
	}
	return t
}

// sqlList returns the columns as a list in SQL.
func (c columns) sqlList() string {
	quoted := make([]string, len(c.list))
	for i, column := range c.list {
		quoted[i] = engine.QuoteIdent(column.Name)
	}
	return strings.Join(quoted, ", ")
}
