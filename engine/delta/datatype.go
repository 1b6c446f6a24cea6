package delta

import "strconv"

// DataType is the type of a column: [Primitive], [Decimal], [Array], [Map] or
// [Struct]. Types are values; compare them with [EqualTypes].
type DataType interface {
	// String prints the type in Delta's notation: long, decimal(12,2),
	// array<string>, map<string,long>, struct<a:integer>.
	String() string
}

// Primitive is a type without parameters, by its name in the schema.
type Primitive string

// The primitive types.
const (
	String       Primitive = "string"
	Long         Primitive = "long"
	Integer      Primitive = "integer"
	Short        Primitive = "short"
	Byte         Primitive = "byte"
	Float        Primitive = "float"
	Double       Primitive = "double"
	Boolean      Primitive = "boolean"
	Binary       Primitive = "binary"
	Date         Primitive = "date"
	Timestamp    Primitive = "timestamp"
	TimestampNTZ Primitive = "timestamp_ntz"
	Variant      Primitive = "variant"
	Void         Primitive = "void"
)

// Known reports whether p is one of the types above. A schema can name other types if
// the table uses an unknown feature.
func (p Primitive) Known() bool {
	switch p {
	case String, Long, Integer, Short, Byte, Float, Double, Boolean, Binary, Date, Timestamp, TimestampNTZ, Variant, Void:
		return true
	}
	return false
}

// String returns the name.
func (p Primitive) String() string { return string(p) }

// Decimal has 1 to 38 digits, of which Scale follow the point.
type Decimal struct {
	Precision, Scale int
}

// String prints decimal(p,s).
func (d Decimal) String() string {
	return "decimal(" + strconv.Itoa(d.Precision) + "," + strconv.Itoa(d.Scale) + ")"
}

// Array is a list.
type Array struct {
	Element      DataType
	ContainsNull bool
}

// String prints array<element>.
func (a Array) String() string { return "array<" + a.Element.String() + ">" }

// Map maps keys, which are never null, to values.
type Map struct {
	Key, Value        DataType
	ValueContainsNull bool
}

// String prints map<key,value>.
func (m Map) String() string { return "map<" + m.Key.String() + "," + m.Value.String() + ">" }

// String prints struct<name:type,…>.
func (s Struct) String() string {
	text := "struct<"
	for i, f := range s.Fields {
		if i > 0 {
			text += ","
		}
		text += f.Name + ":" + f.Type.String()
	}
	return text + ">"
}

// EqualTypes compares two types with everything below them, names, nullability
// and order included, field metadata excluded.
func EqualTypes(a, b DataType) bool {
	switch a := a.(type) {
	case Array:
		b, ok := b.(Array)
		return ok && a.ContainsNull == b.ContainsNull && EqualTypes(a.Element, b.Element)
	case Map:
		b, ok := b.(Map)
		return ok && a.ValueContainsNull == b.ValueContainsNull &&
			EqualTypes(a.Key, b.Key) && EqualTypes(a.Value, b.Value)
	case Struct:
		b, ok := b.(Struct)
		if !ok || len(a.Fields) != len(b.Fields) {
			return false
		}
		for i, f := range a.Fields {
			g := b.Fields[i]
			if f.Name != g.Name || f.Nullable != g.Nullable || !EqualTypes(f.Type, g.Type) {
				return false
			}
		}
		return true
	case nil:
		return b == nil
	}
	switch b.(type) {
	case Array, Map, Struct:
		return false
	}
	return a == b
}
