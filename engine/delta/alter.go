package delta

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/engine/delta/action"
)

// Alteration gathers changes of a table's schema, properties and constraints
// into one new metadata and, where they need more of readers and writers than
// the table's protocol says, one new protocol. What it does not know, among
// properties and field metadata, stays. After an error the alteration is as it
// was before the call. It belongs to one goroutine.
//
// Columns are found by their names in any case. A path names a column by one
// element, and what is nested in it by more; see [Alteration.AddColumn].
type Alteration struct {
	base       *Snapshot
	schema     Struct
	partitions []string
	config     map[string]string
	comment    *string
	// reshaped: the schema is no longer that of base.
	reshaped bool
}

// Change is the outcome of an [Alteration].
type Change struct {
	Metadata action.Metadata
	// Protocol is nil where the table's does.
	Protocol *action.Protocol
}

// Alter starts to change the table.
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

// Schema is the schema so far.
func (a *Alteration) Schema() Struct { return a.schema }

// Properties are the table's properties so far. They must not be changed.
func (a *Alteration) Properties() map[string]string { return a.config }

// Describe sets the comment of the table; empty removes it.
func (a *Alteration) Describe(comment string) { a.comment = unlessEmpty(comment) }

// Change is what a transaction must carry, see [Txn.Alter]. The error is
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

// Alter makes the transaction carry a change.
func (t *Txn) Alter(c Change) {
	t.SetMetadata(c.Metadata)
	if c.Protocol != nil {
		t.SetProtocol(*c.Protocol)
	}
}

func (a *Alteration) setSchema(s Struct) {
	a.schema, a.reshaped = s, true
}

// mapColumns turns column mapping on: from now on the names in files are one
// thing, those of the schema another. Files that are there keep their names.
func (a *Alteration) mapColumns() {
	if mapped(a.config) {
		return
	}
	numbers := newColumnNumbers(a.schema, a.config, func(f Field) string { return f.Name })
	// Leftovers of a mapping that was on once do not name today's files.
	clean := mapFields(a.schema, func(f Field) Field {
		return f.withMetadata(keyColumnID, nil).withMetadata(keyPhysicalName, nil)
	})
	a.setSchema(numbers.assign(clean).(Struct)) //nolint:forcetypeassert // assign keeps the kind
	a.config[propMappingMode] = mappingName
	a.config[propMaxColumnID] = strconv.Itoa(numbers.last)
}

// mapFields returns t with change applied to every field at or below it.
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

// Annotate replaces the field metadata and the properties that are nobody's but
// the writers' own, such as keys. schema must differ from [Alteration.Schema] in
// field metadata only, and neither may differ in what the protocol or Spark give
// a meaning to: names below "delta.", comments, defaults. The error is
// [ErrInvalidSchema] or [ErrInvalidProperty].
func (a *Alteration) Annotate(schema Struct, properties map[string]string) error {
	if !EqualTypes(a.schema, schema) || governed(a.schema) != governed(schema) {
		return fmt.Errorf("annotations change more than themselves: %w", ErrInvalidSchema)
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
		return had && then == value // also one that nobody may set
	})
	if err := checkProperties(schema, a.partitions, changed); err != nil {
		return err
	}
	a.setSchema(schema)
	a.config = maps.Clone(properties)
	return nil
}

// governed prints the field metadata that has a meaning to others.
func governed(s Struct) string {
	only := mapFields(s, func(f Field) Field {
		kept := maps.Clone(f.Metadata)
		maps.DeleteFunc(kept, func(key string, _ rawJSON) bool { return !reserved(key) })
		f.Metadata = kept
		return f
	})
	text, err := only.(Struct).JSON() //nolint:forcetypeassert // mapFields keeps the kind
	if err != nil {
		return err.Error()
	}
	return text
}

// reserved reports field metadata that the protocol or Spark give a meaning to.
func reserved(key string) bool {
	switch key {
	case "comment", keyDefault, "EXISTS_DEFAULT":
		return true
	}
	return strings.HasPrefix(key, "delta.") || strings.HasPrefix(key, "__")
}
