package sqltype

import (
	"slices"
	"strconv"
	"strings"
)

// Type is the type of a column: a [Scalar], [Decimal], [List], [Array], [Map],
// [*Struct], [*Union] or [*Enum].
//
// The operator == compares a type with a scalar or a decimal. [Equal] compares any
// two types.
type Type interface {
	// String prints the type as DuckDB's typeof does: BIGINT, DECIMAL(12,2),
	// STRUCT(a INTEGER), VARCHAR[].
	String() string
	sqlType()
}

// Scalar is a type without parameters, by DuckDB's name.
type Scalar string

// The scalar types.
const (
	Boolean     Scalar = "BOOLEAN"
	TinyInt     Scalar = "TINYINT"
	SmallInt    Scalar = "SMALLINT"
	Integer     Scalar = "INTEGER"
	BigInt      Scalar = "BIGINT"
	HugeInt     Scalar = "HUGEINT"
	UTinyInt    Scalar = "UTINYINT"
	USmallInt   Scalar = "USMALLINT"
	UInteger    Scalar = "UINTEGER"
	UBigInt     Scalar = "UBIGINT"
	UHugeInt    Scalar = "UHUGEINT"
	BigNum      Scalar = "BIGNUM"
	Float       Scalar = "FLOAT"
	Double      Scalar = "DOUBLE"
	Varchar     Scalar = "VARCHAR"
	JSON        Scalar = "JSON" // VARCHAR by another name
	Blob        Scalar = "BLOB"
	Bit         Scalar = "BIT"
	UUID        Scalar = "UUID"
	Date        Scalar = "DATE"
	Time        Scalar = "TIME"
	TimeNS      Scalar = "TIME_NS"
	TimeTZ      Scalar = "TIME WITH TIME ZONE"
	Timestamp   Scalar = "TIMESTAMP" // without time zone, in microseconds
	TimestampS  Scalar = "TIMESTAMP_S"
	TimestampMS Scalar = "TIMESTAMP_MS"
	TimestampNS Scalar = "TIMESTAMP_NS"
	TimestampTZ Scalar = "TIMESTAMP WITH TIME ZONE" // an instant, in microseconds
	Interval    Scalar = "INTERVAL"
	Variant     Scalar = "VARIANT"
	Geometry    Scalar = "GEOMETRY"
	Null        Scalar = `"NULL"`  // that of a bare NULL
	Unknown     Scalar = "UNKNOWN" // that of an expression which DuckDB has not resolved
)

// MaxPrecision is the number of digits of the widest [Decimal].
const MaxPrecision = 38

// Decimal has 1 to 38 digits, of which Scale follow the point.
type Decimal struct{ Precision, Scale int }

// List is a list of any length.
type List struct{ Element Type }

// Array is a list of a fixed length.
type Array struct {
	Element Type
	Length  uint32
}

// Map maps keys to values.
type Map struct{ Key, Value Type }

// Struct has named members. DuckDB also makes structs whose members have no names.
type Struct struct{ Fields []Field }

// Union is one of several named alternatives.
type Union struct{ Fields []Field }

// Enum is one of several texts.
type Enum struct{ Values []string }

// Field is a member of a [Struct] or a [Union].
type Field struct {
	Name string
	Type Type
	// NotNull reports that the definition of a column says so of the member. It is
	// no part of the type in SQL: String omits it.
	NotNull bool
}

func (Scalar) sqlType()  {}
func (Decimal) sqlType() {}
func (List) sqlType()    {}
func (Array) sqlType()   {}
func (Map) sqlType()     {}
func (*Struct) sqlType() {}
func (*Union) sqlType()  {}
func (*Enum) sqlType()   {}

// String returns the name.
func (s Scalar) String() string { return string(s) }

// String prints DECIMAL(p,s).
func (d Decimal) String() string {
	return "DECIMAL(" + strconv.Itoa(d.Precision) + "," + strconv.Itoa(d.Scale) + ")"
}

// String prints element[].
func (l List) String() string { return l.Element.String() + "[]" }

// String prints element[n].
func (a Array) String() string {
	return a.Element.String() + "[" + strconv.FormatUint(uint64(a.Length), 10) + "]"
}

// String prints MAP(key, value).
func (m Map) String() string { return "MAP(" + m.Key.String() + ", " + m.Value.String() + ")" }

// String prints STRUCT(name type, …), with quotes around the names that need them.
func (s *Struct) String() string { return "STRUCT(" + printFields(s.Fields) + ")" }

// String prints UNION(name type, …).
func (u *Union) String() string { return "UNION(" + printFields(u.Fields) + ")" }

// String prints ENUM('value', …).
func (e *Enum) String() string {
	values := make([]string, len(e.Values))
	for i, v := range e.Values {
		values[i] = "'" + strings.ReplaceAll(v, "'", "''") + "'"
	}
	return "ENUM(" + strings.Join(values, ", ") + ")"
}

func printFields(fields []Field) string {
	parts := make([]string, len(fields))
	for i, f := range fields {
		if parts[i] = f.Type.String(); f.Name != "" {
			parts[i] = memberName(f.Name) + " " + parts[i]
		}
	}
	return strings.Join(parts, ", ")
}

// memberName quotes a name where DuckDB quotes it inside a type.
func memberName(name string) string {
	plain := !keywords[strings.ToLower(name)]
	for i := 0; plain && i < len(name); i++ {
		plain = wordByte(name[i]) && (i > 0 || name[i] < '0' || name[i] > '9')
	}
	if plain {
		return name
	}
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}

// Equal reports whether two types print alike.
func Equal(a, b Type) bool {
	return a == b || a != nil && b != nil && a.String() == b.String()
}

// Parts returns what a type is made of: the members of a STRUCT or a UNION, the
// element of a list or an array, key and value of a map. Others have none.
func Parts(t Type) []Field {
	switch t := t.(type) {
	case List:
		return []Field{{Name: "element", Type: t.Element}}
	case Array:
		return []Field{{Name: "element", Type: t.Element}}
	case Map:
		return []Field{{Name: "key", Type: t.Key}, {Name: "value", Type: t.Value}}
	case *Struct:
		return t.Fields
	case *Union:
		return t.Fields
	}
	return nil
}

// Contains reports whether is holds for a type or for anything that it is made of.
func Contains(t Type, is func(Type) bool) bool {
	return is(t) || slices.ContainsFunc(Parts(t), func(f Field) bool { return Contains(f.Type, is) })
}

// IntegerBits returns the size of an integer type, and whether it is signed. It
// returns 0 for any other type.
func IntegerBits(t Type) (bits int, signed bool) {
	switch t {
	case TinyInt, UTinyInt:
		bits = 8
	case SmallInt, USmallInt:
		bits = 16
	case Integer, UInteger:
		bits = 32
	case BigInt, UBigInt:
		bits = 64
	case HugeInt, UHugeInt:
		bits = 128
	}
	return bits, bits > 0 && t.String()[0] != 'U'
}
