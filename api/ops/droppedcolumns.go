package ops

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
)

// propertyDropped is a table property: the columns that were dropped through this
// server, as a JSON array of [droppedColumn]. Other writers keep unknown properties.
// Policies of every table know by it what was theirs in former versions.
const propertyDropped = "lakewarden.droppedColumns"

type droppedColumn struct {
	// Name is what the column was called last, File its name in files.
	Name string `json:"name"`
	File string `json:"file"`
}

// droppedColumns are those of a version that it does not have again, as it has after
// a restore.
func droppedColumns(snap *delta.Snapshot) []droppedColumn {
	return slices.DeleteFunc(listDropped(snap.Properties()), func(d droppedColumn) bool {
		return slices.ContainsFunc(snap.Schema().Fields, func(f delta.Field) bool { return fileName(snap, f) == d.File })
	})
}

func listDropped(properties map[string]string) (out []droppedColumn) {
	_ = json.Unmarshal([]byte(properties[propertyDropped]), &out) // what is no list names nothing
	return out
}

// noteDropped adds to the columns that were dropped.
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

// dropped are the columns of the version that is read which were dropped since,
// under the names that they had last.
func (u usedTable) dropped() (out []engine.Column) {
	list := droppedColumns(u.head)
	if u.snap == u.head || len(list) == 0 {
		return nil
	}
	names, former := u.fieldsThen(), columnsOf(u.snap)
	for _, d := range list {
		i := slices.IndexFunc(former, func(c engine.Column) bool { return c.Name == names[d.File] })
		if i >= 0 {
			column := former[i]
			column.Name = d.Name
			out = append(out, column)
		}
	}
	return out
}
