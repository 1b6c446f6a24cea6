package access

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/lakewarden/lakewarden/api/ops/lake"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
)

// propertyDropped is a table property: the columns that were dropped through this
// server, as a JSON array of [droppedColumn]. Other writers leave unknown properties as
// they are. Policies of every table identify their columns in historical versions by it.
const propertyDropped = "lakewarden.droppedColumns"

type droppedColumn struct {
	// Name is the last name of the column, File its name in files.
	Name string `json:"name"`
	File string `json:"file"`
}

// droppedColumns returns the dropped columns of a version, without those that a restore
// brought back.
func droppedColumns(snap *delta.Snapshot) []droppedColumn {
	return slices.DeleteFunc(listDropped(snap.Properties()), func(d droppedColumn) bool {
		return slices.ContainsFunc(snap.Schema().Fields, func(f delta.Field) bool { return fileName(snap, f) == d.File })
	})
}

func listDropped(properties map[string]string) (out []droppedColumn) {
	_ = json.Unmarshal([]byte(properties[propertyDropped]), &out) // anything else names no column
	return out
}

// NoteDropped records in alter that the column f of snap is dropped.
func NoteDropped(alter *delta.Alteration, snap *delta.Snapshot, f delta.Field) error {
	return noteDropped(alter, droppedColumn{f.Name, fileName(snap, f)})
}

// NoteDroppedBefore records in alter, which starts from another version, the columns
// that snap lists as dropped, and those of snap that end with the change.
func NoteDroppedBefore(alter *delta.Alteration, snap, target *delta.Snapshot) error {
	names, list := fieldNames(target), droppedColumns(snap)
	for _, f := range snap.Schema().Fields {
		if file := fileName(snap, f); names[file] == "" {
			list = append(list, droppedColumn{f.Name, file})
		}
	}
	return noteDropped(alter, list...)
}

// DroppedUnderOtherNames returns the last names of columns that head lists as dropped and that
// target, another version, has under other names.
func DroppedUnderOtherNames(head, target *delta.Snapshot) (last []string) {
	names := fieldNames(target)
	for _, d := range droppedColumns(head) {
		if name, ok := names[d.File]; ok && !strings.EqualFold(name, d.Name) {
			last = append(last, d.Name)
		}
	}
	return last
}

func noteDropped(alter *delta.Alteration, more ...droppedColumn) error {
	list := listDropped(alter.Properties())
	for _, column := range more {
		if !slices.Contains(list, column) {
			list = append(list, column)
		}
	}
	if len(list) == 0 {
		return nil
	}
	text, err := json.Marshal(list)
	if err != nil {
		return err
	}
	properties := maps.Clone(alter.Properties())
	properties[propertyDropped] = string(text)
	return alter.Annotate(alter.Schema(), properties)
}

// dropped returns the columns of the historical version that were dropped later, under
// their last names.
func (v tableVersion) dropped() (out []engine.Column) {
	list := droppedColumns(v.head)
	if v.snap == v.head || len(list) == 0 {
		return nil
	}
	names, historical := fieldNames(v.snap), lake.Columns(v.snap)
	for _, d := range list {
		i := slices.IndexFunc(historical, func(c engine.Column) bool { return c.Name == names[d.File] })
		if i >= 0 {
			column := historical[i]
			column.Name = d.Name
			out = append(out, column)
		}
	}
	return out
}
