package delta

import (
	stdjson "encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"
)

// The modes of column mapping (protocol, "Column Mapping").
const (
	mappingNone = "none"
	mappingName = "name"
	mappingID   = "id"
)

// FileColumn describes a column, or a nested part of one, as it is stored in data
// files.
type FileColumn struct {
	// Name is the logical name. It is "element" for elements of arrays, and "key" and
	// "value" for entries of maps.
	Name string
	// FileName is the physical name.
	FileName string
	// ID is the Parquet field id; zero if there is none.
	ID int
	// Void reports that files do not have the column, which is always NULL.
	Void bool
	// Children are the nested parts, in the schema's order.
	Children []FileColumn
}

// InFiles reports whether data files have the column. They lack partition columns and
// void ones.
func (s *Snapshot) InFiles(f Field) bool {
	return f.Type != Void && !slices.Contains(s.PartitionColumns(), f.Name)
}

// FileColumns returns the columns of the table's data files: those for which
// [Snapshot.InFiles] is true. With column mapping, new files must use these names and
// field ids, and their statistics these names.
func (s *Snapshot) FileColumns() []FileColumn {
	all := fileColumns(s.schema, mapped(s.Properties()))
	return slices.DeleteFunc(all, func(c FileColumn) bool {
		f, _ := s.schema.Field(c.Name)
		return !s.InFiles(f)
	})
}

func fileColumns(t DataType, mapped bool) []FileColumn {
	return fileParts(t, mapped, nil, "")
}

// fileParts returns the nested parts of a type. An element, key or value has an id if
// the metadata of the enclosing field has an id for its path from that field.
func fileParts(t DataType, mapped bool, nested map[string]int, path string) []FileColumn {
	part := func(name string, t DataType) FileColumn {
		below := path + "." + name
		return FileColumn{Name: name, FileName: name, ID: nested[below], Children: fileParts(t, mapped, nested, below)}
	}
	switch t := t.(type) {
	case Array:
		return []FileColumn{part("element", t.Element)}
	case Map:
		return []FileColumn{part("key", t.Key), part("value", t.Value)}
	case Struct:
		list := make([]FileColumn, len(t.Fields))
		for i, f := range t.Fields {
			list[i] = FileColumn{Name: f.Name, FileName: f.Name, Void: f.Type == Void}
			var ids map[string]int
			if mapped {
				list[i].FileName = f.PhysicalName()
				list[i].ID, _ = f.columnID()
				ids = f.nestedIDs()
			}
			list[i].Children = fileParts(f.Type, mapped, ids, list[i].FileName)
		}
		return list
	}
	return nil
}

// nestedIDs returns the ids of the elements, keys and values in the field by their
// paths, which start with its physical name (protocol, "IcebergCompatV2"). It returns
// nil if there are none.
func (f Field) nestedIDs() map[string]int {
	for _, key := range []string{keyNestedIDs, keyParquetNestedIDs} {
		var ids map[string]int
		if raw, ok := f.Metadata[key]; ok && json.Unmarshal(raw, &ids) == nil {
			return ids
		}
	}
	return nil
}

func mapped(properties map[string]string) bool {
	mode := properties[propMappingMode]
	return mode != "" && mode != mappingNone
}

// fileNaming returns the function from a field to its physical name. Without column
// mapping it is the logical name, even if the field's metadata has a physical one.
func fileNaming(properties map[string]string) func(Field) string {
	if mapped(properties) {
		return Field.PhysicalName
	}
	return func(f Field) string { return f.Name }
}

// PartitionValues returns the file's partition values by the columns' logical names, in
// the form of the log. A nil or missing value is NULL.
func (s *Snapshot) PartitionValues(f File) map[string]*string {
	return s.logicalValues(f.Add.PartitionValues)
}

func (s *Snapshot) logicalValues(values map[string]*string) map[string]*string {
	naming := fileNaming(s.Properties())
	out := make(map[string]*string, len(values))
	for _, column := range s.PartitionColumns() {
		f, _ := s.schema.Field(column)
		out[column] = values[naming(f)]
	}
	return out
}

// columnID returns the field's id in column mapping.
func (f Field) columnID() (int, bool) {
	v, ok := f.Metadata[keyColumnID]
	if !ok {
		return 0, false
	}
	var id int
	if json.Unmarshal(v, &id) != nil || id <= 0 {
		return 0, false
	}
	return id, true
}

// checkMapping refuses a column mapping to which files cannot be written.
func (s *Snapshot) checkMapping() error {
	switch mode := s.Properties()[propMappingMode]; mode {
	case "", mappingNone:
		return nil
	case mappingName, mappingID:
	default:
		return refuseWrite(featMapping, "unknown mode "+strconv.Quote(mode))
	}
	if !supports(s.state.protocol, featMapping) {
		return refuseWrite(featMapping, "the protocol does not list it")
	}
	ids := make(map[int]bool)
	var found error
	walkTypes(s.schema, func(t DataType) {
		st, ok := t.(Struct)
		if !ok || found != nil {
			return
		}
		names := make(map[string]bool, len(st.Fields))
		for _, f := range st.Fields {
			name, named := f.MetadataString(keyPhysicalName)
			id, numbered := f.columnID()
			if !named || name == "" || !numbered || names[name] || ids[id] {
				found = refuseWrite(featMapping, fmt.Sprintf("column %q has no name in files or no id of its own", f.Name))
				return
			}
			names[name], ids[id] = true, true
		}
	})
	return found
}

// columnNumbers assigns column ids.
type columnNumbers struct {
	last int
	// name returns the physical name for a field without one.
	name func(Field) string
}

// newColumnNumbers starts after the highest id that the table has used.
func newColumnNumbers(schema Struct, properties map[string]string, name func(Field) string) *columnNumbers {
	c := &columnNumbers{name: name}
	if n, err := strconv.Atoi(properties[propMaxColumnID]); err == nil {
		c.last = n
	}
	walkFields(schema, func(f Field) {
		id, _ := f.columnID()
		c.last = max(c.last, id)
	})
	return c
}

// assign returns t with an id and a physical name for every field that lacks one.
func (c *columnNumbers) assign(t DataType) DataType {
	switch t := t.(type) {
	case Array:
		t.Element = c.assign(t.Element)
		return t
	case Map:
		t.Key, t.Value = c.assign(t.Key), c.assign(t.Value)
		return t
	case Struct:
		fields := make([]Field, len(t.Fields))
		for i, f := range t.Fields {
			fields[i] = c.assignField(f)
		}
		return Struct{Fields: fields}
	}
	return t
}

func (c *columnNumbers) assignField(f Field) Field {
	if _, ok := f.columnID(); !ok {
		c.last++
		f = f.withMetadata(keyColumnID, stdjson.RawMessage(strconv.Itoa(c.last)))
	}
	if _, ok := f.MetadataString(keyPhysicalName); !ok {
		f = f.withMetadata(keyPhysicalName, jsonString(c.name(f)))
	}
	f.Type = c.assign(f.Type)
	return f
}

// columnName returns a function that generates physical names for new columns. They are
// random, because a column renamed later could have any meaningful name.
func columnName(newID func() string) func(Field) string {
	return func(Field) string { return "col-" + newID() }
}
