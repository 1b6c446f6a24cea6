package delta

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/engine/delta/action"
)

// Alteration collects changes of a table's schema, properties and constraints into one
// new metadata and, if the table's protocol does not cover them, one new protocol.
// Unknown properties and field metadata are preserved. A failed call leaves the
// alteration unchanged. An Alteration is not safe for concurrent use.
//
// Column names are case-insensitive. A path of one element names a column, a longer one
// a nested field; see [Alteration.AddColumn].
type Alteration struct {
	base       *Snapshot
	schema     Struct
	partitions []string
	config     map[string]string
	comment    *string
	// reshaped reports whether the schema differs from that of base.
	reshaped bool
}

// Change is the result of an [Alteration].
type Change struct {
	Metadata action.Metadata
	// Protocol is nil if the table's protocol suffices.
	Protocol *action.Protocol
}

// Alter starts an alteration of the table.
func (s *Snapshot) Alter() *Alteration {
	a := &Alteration{
		base: s, schema: s.schema, partitions: slices.Clone(s.PartitionColumns()),
		config: maps.Clone(s.Properties()), comment: s.state.metadata.Description,
	}
	if a.config == nil {
		a.config = make(map[string]string)
	}
	return a
}

// Schema returns the schema with the changes so far.
func (a *Alteration) Schema() Struct { return a.schema }

// Properties returns the table's properties with the changes so far. The caller must
// not change them.
func (a *Alteration) Properties() map[string]string { return a.config }

// Describe sets the comment of the table. An empty comment removes it.
func (a *Alteration) Describe(comment string) { a.comment = unlessEmpty(comment) }

// Change returns the new metadata and protocol for [Txn.Alter]. The error is
// [ErrInvalidSchema].
func (a *Alteration) Change() (Change, error) {
	c := Change{Metadata: a.base.Metadata()}
	if a.reshaped {
		text, err := a.schema.JSON()
		if err != nil {
			return Change{}, err
		}
		if _, err := ParseSchema(text); err != nil {
			return Change{}, err
		}
		c.Metadata.SchemaString = text
	}
	c.Metadata.PartitionColumns = a.partitions
	c.Metadata.Configuration = maps.Clone(a.config)
	c.Metadata.Description = a.comment
	if p, changed := a.base.ProtocolFor(a.schema, a.config); changed {
		c.Protocol = &p
	}
	return c, nil
}

// Alter makes the transaction write a change of metadata and protocol.
func (t *Txn) Alter(c Change) {
	t.SetMetadata(c.Metadata)
	if c.Protocol != nil {
		t.SetProtocol(*c.Protocol)
	}
}

func (a *Alteration) setSchema(s Struct) {
	a.schema, a.reshaped = s, true
}

// mapColumns enables column mapping by name. Every column's current name becomes its
// physical name, so existing files stay valid.
func (a *Alteration) mapColumns() {
	if mapped(a.config) {
		return
	}
	numbers := newColumnNumbers(a.schema, a.config, func(f Field) string { return f.Name })
	// Field metadata of a mapping that was enabled earlier does not match the current
	// files.
	clean := mapFields(a.schema, func(f Field) Field {
		return f.withMetadata(keyColumnID, nil).withMetadata(keyPhysicalName, nil)
	})
	a.setSchema(numbers.assign(clean).(Struct)) //nolint:forcetypeassert // assign returns a Struct for a Struct
	a.config[propMappingMode] = mappingName
	a.config[propMaxColumnID] = strconv.Itoa(numbers.last)
}

// mapFields returns t with change applied to every field at any depth.
func mapFields(t DataType, change func(Field) Field) DataType {
	switch t := t.(type) {
	case Array:
		t.Element = mapFields(t.Element, change)
		return t
	case Map:
		t.Key, t.Value = mapFields(t.Key, change), mapFields(t.Value, change)
		return t
	case Struct:
		fields := make([]Field, len(t.Fields))
		for i, f := range t.Fields {
			fields[i] = change(f)
			fields[i].Type = mapFields(f.Type, change)
		}
		return Struct{Fields: fields}
	}
	return t
}

// Annotate replaces the properties and field metadata that only applications use, such
// as primary keys. schema may differ from [Alteration.Schema] in field metadata only.
// Properties and field metadata that the protocol or Spark define must not change:
// names with the prefix "delta.", comments and defaults. The error is
// [ErrInvalidSchema] or [ErrInvalidProperty].
func (a *Alteration) Annotate(schema Struct, properties map[string]string) error {
	if !EqualTypes(a.schema, schema) || reservedMetadata(a.schema) != reservedMetadata(schema) {
		return fmt.Errorf("annotations change the schema or reserved metadata: %w", ErrInvalidSchema)
	}
	for _, m := range []map[string]string{a.config, properties} {
		for name := range m {
			then, had := a.config[name]
			now, has := properties[name]
			if strings.HasPrefix(name, "delta.") && (had != has || then != now) {
				return fmt.Errorf("annotation %q: %w", name, ErrInvalidProperty)
			}
		}
	}
	changed := maps.Clone(properties)
	maps.DeleteFunc(changed, func(name, value string) bool {
		then, had := a.config[name]
		return had && then == value // an unchanged property is accepted even if it cannot be set
	})
	if err := checkProperties(schema, a.partitions, changed); err != nil {
		return err
	}
	a.setSchema(schema)
	a.config = maps.Clone(properties)
	return nil
}

// reservedMetadata returns the schema as JSON with only the field metadata that the
// protocol or Spark define.
func reservedMetadata(s Struct) string {
	only := mapFields(s, func(f Field) Field {
		kept := maps.Clone(f.Metadata)
		maps.DeleteFunc(kept, func(key string, _ rawJSON) bool { return !isReserved(key) })
		f.Metadata = kept
		return f
	})
	text, err := only.(Struct).JSON() //nolint:forcetypeassert // mapFields returns a Struct for a Struct
	if err != nil {
		return err.Error()
	}
	return text
}

// isReserved reports whether the protocol or Spark define the key of field metadata.
func isReserved(key string) bool {
	switch key {
	case "comment", keyDefault, "EXISTS_DEFAULT":
		return true
	}
	return strings.HasPrefix(key, "delta.") || strings.HasPrefix(key, "__")
}
