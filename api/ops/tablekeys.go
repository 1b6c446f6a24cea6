package ops

import (
	"encoding/json"

	"github.com/lakewarden/lakewarden/engine/delta"
)

// markKeys writes the keys of a new table where its metadata keeps them.
func markKeys(columns []NewTableColumn, out *delta.CreateOptions) error {
	var primary []string
	for _, c := range columns {
		if c.PrimaryKey {
			primary = append(primary, c.Name)
		}
	}
	for i, c := range columns {
		switch {
		case c.Unique && c.PrimaryKey && len(primary) > 1:
			return invalid("columns", "must not have a unique column within a primary key of several columns")
		case c.Unique && !c.PrimaryKey:
			out.Schema.Fields[i].Metadata["lakewarden.unique"] = json.RawMessage("true")
		}
	}
	if len(primary) == 0 {
		return nil
	}
	text, err := json.Marshal(primary)
	if err != nil {
		return err
	}
	out.Properties["lakewarden.primaryKey"] = string(text)
	return nil
}
