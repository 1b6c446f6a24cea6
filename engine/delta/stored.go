package delta

import (
	"slices"
	"strings"
)

// StoredFields returns the fields of the schema with their physical names, also of
// nested fields. Statistics and partition values in the log use the physical names of
// the columns.
func (s *Snapshot) StoredFields() []Field {
	naming := fileNaming(s.Properties())
	stored := mapFields(s.schema, func(f Field) Field {
		f.Name = naming(f)
		return f
	})
	return stored.(Struct).Fields //nolint:forcetypeassert // mapFields returns a Struct for a Struct
}

// FoundByName reports whether the columns of every data file can be found by their
// physical names. It is false if they are found by field id, or if two names differ in
// case only.
func (s *Snapshot) FoundByName() bool {
	if !s.Mapped() {
		return true
	}
	found := s.Properties()[propMappingMode] == mappingName
	walkTypes(Struct{Fields: s.StoredFields()}, func(t DataType) {
		st, ok := t.(Struct)
		if !ok {
			return
		}
		names := make([]string, len(st.Fields))
		for i, f := range st.Fields {
			_, named := f.MetadataString(keyPhysicalName)
			names[i] = strings.ToLower(f.Name)
			found = found && named && f.Name != ""
		}
		slices.Sort(names)
		found = found && len(slices.Compact(names)) == len(st.Fields)
	})
	return found
}

// ColumnIDs returns the field ids by which the columns of every data file are found, in
// the order of the schema. It returns nil if they are found by name, or if a column or
// nested field has no unique id.
func (s *Snapshot) ColumnIDs() []int {
	if s.Properties()[propMappingMode] != mappingID || s.checkMapping() != nil {
		return nil
	}
	ids := make([]int, len(s.schema.Fields))
	for i, f := range s.schema.Fields {
		ids[i], _ = f.columnID()
	}
	return ids
}

// WidenedInside reports whether a nested field, element, key or value once had a
// narrower type, which files may still use.
func (s *Snapshot) WidenedInside() bool {
	changed := func(f Field) bool { return f.Metadata[keyTypeChanges] != nil }
	for _, f := range s.schema.Fields {
		if _, plain := f.Type.(Primitive); plain {
			continue
		}
		if _, plain := f.Type.(Decimal); plain {
			continue
		}
		inside := changed(f) // of an element, key or value
		walkFields(f.Type, func(f Field) { inside = inside || changed(f) })
		if inside {
			return true
		}
	}
	return false
}

// MembersReplaced reports whether some data file may have none of the current fields of
// a struct, because all fields that the struct had at that time were dropped. Column
// ids increase over time, a column's id is less than those of its nested fields, and no
// id is reused. A dropped first field therefore shows as a missing id between that of
// the column and the lowest one of its current fields. Without column mapping fields
// cannot be dropped.
func (s *Snapshot) MembersReplaced() bool {
	if !s.Mapped() {
		return false
	}
	present := make(map[int]bool)
	walkFields(s.schema, func(f Field) {
		id, _ := f.columnID()
		present[id] = true
	})
	replaced := false
	walkFields(s.schema, func(f Field) {
		of, _ := f.columnID()
		for _, st := range nearestStructs(f.Type) {
			next := of + 1
			for present[next] && !st.numbers(next) {
				next++
			}
			replaced = replaced || !st.numbers(next)
		}
	})
	return replaced
}

// nearestStructs returns the structs in a type that are not nested in another struct.
func nearestStructs(t DataType) []Struct {
	switch t := t.(type) {
	case Array:
		return nearestStructs(t.Element)
	case Map:
		return append(nearestStructs(t.Key), nearestStructs(t.Value)...)
	case Struct:
		return []Struct{t}
	}
	return nil
}

// numbers reports whether a field of the struct has the id.
func (st Struct) numbers(id int) bool {
	return slices.ContainsFunc(st.Fields, func(f Field) bool {
		have, numbered := f.columnID()
		return numbered && have == id
	})
}
