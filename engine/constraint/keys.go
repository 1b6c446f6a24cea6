package constraint

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lakewarden/lakewarden/engine/delta"
)

// Where a table's keys are stored. Other writers preserve unknown properties and field metadata.
const (
	// PropertyPrimaryKey is a table property: the names of the key's columns, in
	// order, as a JSON array.
	PropertyPrimaryKey = "lakewarden.primaryKey"
	// MetadataPrimaryKey and MetadataUnique are field metadata: true.
	MetadataPrimaryKey = "lakewarden.primaryKey"
	MetadataUnique     = "lakewarden.unique"
)

// Keys are the keys of a table.
type Keys struct {
	// Primary are the columns of the primary key, in order. Their combination is unique; NULLs are
	// equal.
	Primary []string
	// Unique are the columns that are individually unique, in the order of the schema. They exclude
	// the column of a primary key of one column. A NULL does not equal another NULL.
	Unique []string
}

// KeysOf reads the keys of a schema and a table's properties. The property lists the columns of the
// primary key; their field metadata identifies columns that another writer renamed. If a column was
// dropped, there is no primary key.
func KeysOf(schema delta.Struct, properties map[string]string) Keys {
	var named, flagged []string
	_ = json.Unmarshal([]byte(properties[PropertyPrimaryKey]), &named) // a malformed value lists no columns
	var k Keys
	for _, f := range schema.Fields {
		if flag(f, MetadataPrimaryKey) {
			flagged = append(flagged, f.Name)
		}
	}
	missing := slices.ContainsFunc(named, func(name string) bool { _, ok := schema.Field(name); return !ok })
	switch {
	case !missing:
		k.Primary = inOrder(named, named)
	case len(named) == len(flagged):
		k.Primary = inOrder(named, flagged)
	}
	for _, f := range schema.Fields {
		if flag(f, MetadataUnique) && !(len(k.Primary) == 1 && k.Primary[0] == f.Name) {
			k.Unique = append(k.Unique, f.Name)
		}
	}
	return k
}

// inOrder orders the flagged columns as in named. Columns that are not in named fill the remaining
// places.
func inOrder(named, flagged []string) []string {
	rest := slices.DeleteFunc(slices.Clone(flagged), func(name string) bool { return slices.Contains(named, name) })
	out := make([]string, len(named))
	for i, name := range named {
		if !slices.Contains(flagged, name) || slices.Contains(named[:i], name) {
			if len(rest) == 0 {
				return nil
			}
			name, rest = rest[0], rest[1:]
		}
		out[i] = name
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// flag reports whether a field has a mark. delta-rs writes the values of field metadata as texts.
func flag(f delta.Field, key string) bool {
	value := string(f.Metadata[key])
	return value == `true` || value == `"true"`
}

// Marked reports whether a field has the mark of a column of the primary key.
func Marked(f delta.Field) bool { return flag(f, MetadataPrimaryKey) }

// IsPrimary reports whether a column is part of the primary key.
func (k Keys) IsPrimary(column string) bool { return slices.Contains(k.Primary, column) }

// IsUnique reports a column's setting isUnique. For columns of the primary key it follows from the
// key: it is true if the key has one column.
func (k Keys) IsUnique(column string) bool {
	if k.IsPrimary(column) {
		return len(k.Primary) == 1
	}
	return slices.Contains(k.Unique, column)
}

// Write returns the schema and the properties with these keys in place of the previous ones.
// Columns are spelled as in the schema. The error is [ErrInvalidKey].
func (k Keys) Write(schema delta.Struct, properties map[string]string) (delta.Struct, map[string]string, error) {
	if err := k.check(schema); err != nil {
		return delta.Struct{}, nil, err
	}
	out := delta.Struct{Fields: slices.Clone(schema.Fields)}
	for i, f := range out.Fields {
		meta := maps.Clone(f.Metadata)
		if meta == nil {
			meta = map[string]json.RawMessage{}
		}
		for key, set := range map[string]bool{MetadataPrimaryKey: k.IsPrimary(f.Name), MetadataUnique: k.IsUnique(f.Name)} {
			if delete(meta, key); set {
				meta[key] = json.RawMessage("true")
			}
		}
		out.Fields[i].Metadata = meta
	}
	properties = maps.Clone(properties)
	if properties == nil {
		properties = map[string]string{}
	}
	delete(properties, PropertyPrimaryKey)
	if len(k.Primary) > 0 {
		list, err := json.Marshal(k.Primary)
		if err != nil {
			return delta.Struct{}, nil, err
		}
		properties[PropertyPrimaryKey] = string(list)
	}
	return out, properties, nil
}

func (k Keys) check(schema delta.Struct) error {
	seen := map[string]bool{}
	for _, name := range append(slices.Clone(k.Primary), k.Unique...) {
		f, ok := schema.Field(name)
		switch {
		case !ok:
			return fmt.Errorf("there is no column %q: %w", name, ErrInvalidKey)
		case !Keyable(f.Type):
			return fmt.Errorf("column %q of type %s: %w", name, f.Type, ErrInvalidKey)
		}
	}
	for _, name := range k.Primary {
		if folded := strings.ToLower(name); seen[folded] {
			return fmt.Errorf("column %q twice: %w", name, ErrInvalidKey)
		}
		seen[strings.ToLower(name)] = true
	}
	return nil
}

// Keyable reports whether values of a type can be part of a key: engines do not agree on the
// equality of nested values and variants.
func Keyable(t delta.DataType) bool { return familyOf(t) != famOther && familyOf(t) != famNull }

// Key is a combination of columns that is unique.
type Key struct {
	// Name is "primary key" or the unique column's name, for messages.
	Name    string
	Columns []KeyColumn
	// NullsEqual reports that NULLs are equal, as in the primary key. Otherwise a row with a NULL
	// conflicts with no other row.
	NullsEqual bool
}

// ColumnNames returns the names of the key's columns, in order.
func (k Key) ColumnNames() []string {
	out := make([]string, len(k.Columns))
	for i, c := range k.Columns {
		out[i] = c.Name
	}
	return out
}

// KeyColumn is a column of a key with its type.
type KeyColumn struct {
	Name string
	Type delta.DataType
}

// In returns the keys with the types of a schema, the primary key first.
func (k Keys) In(schema delta.Struct) []Key {
	column := func(name string) KeyColumn {
		f, _ := schema.Field(name)
		return KeyColumn{name, f.Type}
	}
	var out []Key
	if len(k.Primary) > 0 {
		key := Key{Name: "primary key", NullsEqual: true}
		for _, name := range k.Primary {
			key.Columns = append(key.Columns, column(name))
		}
		out = append(out, key)
	}
	for _, name := range k.Unique {
		out = append(out, Key{Name: name, Columns: []KeyColumn{column(name)}})
	}
	return out
}
