package delta

import (
	"slices"
	"strings"
)

// StoredFields are the fields of the schema with the names that data files have
// for them and for their members. Statistics and partition values of the log use
// the names at the top.
func (s *Snapshot) StoredFields() []Field {
	naming := fileNaming(s.Properties())
	stored := mapFields(s.schema, func(f Field) Field {
		f.Name = naming(f)
		return f
	})
	return stored.(Struct).Fields //nolint:forcetypeassert // mapFields keeps the kind
}

// FoundByName reports whether the columns of every data file can be found by
// their names there: other than by field id, and without two that are one to
// readers who do not tell cases apart.
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

// ColumnIDs are the field ids by which the columns of every data file are found, in
// the order of the schema; nil where they are found by name, and where a column or a
// member has no id of its own.
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

// WidenedInside reports whether a member or element of a column once had a
// narrower type, which files may still have.
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

// MembersReplaced reports whether some data file may have none of the members that a
// struct has now, because those that it was written with were dropped. Ids follow one
// another in time, that of a column comes before those of its members, and none is
// given twice: such a member has a number between that of the column and the least one
// of its present members, and that number is missing in the schema. Without mapping no
// member is ever dropped.
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

// nearestStructs are the structs in a type that are in no other one.
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
