package ops

import (
	"errors"

	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/rules"
)

// markKeys writes the keys of a new table where its metadata keeps them.
func markKeys(columns []NewTableColumn, out *delta.CreateOptions) error {
	var keys rules.Keys
	for _, c := range columns {
		if c.PrimaryKey {
			keys.Primary = append(keys.Primary, c.Name)
		}
	}
	for _, c := range columns {
		switch {
		case c.Unique && c.PrimaryKey && len(keys.Primary) > 1:
			return invalid("columns", "must not have a unique column within a primary key of several columns")
		case c.Unique && !c.PrimaryKey:
			keys.Unique = append(keys.Unique, c.Name)
		}
	}
	schema, properties, err := keys.Write(out.Schema, out.Properties)
	if errors.Is(err, rules.ErrInvalidKey) {
		return invalid("columns", "a key column is of a type that has no equality")
	}
	if err == nil {
		out.Schema, out.Properties = schema, properties
	}
	return err
}
