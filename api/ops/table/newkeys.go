package table

import (
	"fmt"

	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/engine/constraint"
	"github.com/lakewarden/lakewarden/engine/delta"
)

// markKeys writes the keys of a new table into its metadata. Whether a key column is unique
// follows from the key, so a request may only repeat it.
func markKeys(columns []ColumnDefinition, out *delta.CreateOptions) error {
	var keys constraint.Keys
	for _, c := range columns {
		if c.PrimaryKey {
			keys.Primary = append(keys.Primary, c.Name)
		}
	}
	for i, c := range columns {
		if c.Unique != nil && *c.Unique && !c.PrimaryKey {
			keys.Unique = append(keys.Unique, c.Name)
		}
		if c.Unique != nil && *c.Unique != keys.IsUnique(c.Name) {
			return fault.Invalid(fmt.Sprintf("columns[%d].is_unique", i),
				"follows from the primary key: true where it has one column, false where it has several")
		}
		if err := keyable(out.Schema, keys, c.Name, fmt.Sprintf("columns[%d].is_unique", i),
			fmt.Sprintf("columns[%d].is_primary_key", i)); err != nil {
			return err
		}
	}
	schema, properties, err := keys.Write(out.Schema, out.Properties)
	if err == nil {
		out.Schema, out.Properties = schema, properties
	}
	return err
}
