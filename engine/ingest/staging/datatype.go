package staging

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakewarden/lakewarden/engine"
)

// kind is the family of a type.
type kind uint8

// The kinds that tables have, and below them those that only bodies have.
const (
	KindBoolean kind = iota + 1
	kindByte
	kindShort
	kindInteger
	kindLong
	KindFloat
	KindDouble
	kindDecimal
	KindString
	kindBinary
	kindDate
	kindTimestamp
	kindTimestampNTZ
	KindArray
	KindMap
	KindStruct

	KindNull
	kindUByte
	kindUShort
	kindUInteger
	kindULong
	kindHuge
	kindUHuge
	kindHalf
	kindDateMillis
	kindTimestampS
	kindTimestampMS
	kindTimestampNS
	kindEnum
	KindJSON
	kindFixedArray
	kindOther
)

// DataType is the type of a column or of something in it.
type DataType struct {
	Kind kind
	// precision and scale are those of a decimal.
	precision, scale int32
	// size is the length of a fixed array.
	size string
	// values are those of an enum, as SQL.
	values string
	// fields are the members of a struct; the element of an array; key and value
	// of a map.
	fields []member
	// expected caches the result of [DataType.expects].
	expected string
}

// member is a named part of a type.
type member struct {
	name string
	typ  *DataType
}

var sqlNames = map[kind]string{
	KindBoolean: "BOOLEAN", kindByte: "TINYINT", kindShort: "SMALLINT", kindInteger: "INTEGER", kindLong: "BIGINT",
	KindFloat: "FLOAT", KindDouble: "DOUBLE", KindString: "VARCHAR", kindBinary: "BLOB", kindDate: "DATE",
	kindTimestamp: "TIMESTAMP WITH TIME ZONE", kindTimestampNTZ: "TIMESTAMP",
	KindNull: `"NULL"`, kindUByte: "UTINYINT", kindUShort: "USMALLINT", kindUInteger: "UINTEGER", kindULong: "UBIGINT",
	kindHuge: "HUGEINT", kindUHuge: "UHUGEINT", KindJSON: "JSON",
	kindTimestampS: "TIMESTAMP_S", kindTimestampMS: "TIMESTAMP_MS", kindTimestampNS: "TIMESTAMP_NS",
}

var kindsByName = func() map[string]kind {
	kinds := make(map[string]kind, len(sqlNames))
	for k, name := range sqlNames {
		kinds[name] = k
	}
	return kinds
}()

// SQL prints the type for a cast.
func (t *DataType) SQL() string {
	switch t.Kind {
	case kindDecimal:
		return fmt.Sprintf("DECIMAL(%d,%d)", t.precision, t.scale)
	case KindArray:
		return t.fields[0].typ.SQL() + "[]"
	case kindFixedArray:
		return t.fields[0].typ.SQL() + "[" + t.size + "]"
	case kindEnum:
		return "ENUM(" + t.values + ")"
	case KindMap:
		return "MAP(" + t.fields[0].typ.SQL() + ", " + t.fields[1].typ.SQL() + ")"
	case KindStruct:
		parts := make([]string, len(t.fields))
		for i, f := range t.fields {
			parts[i] = engine.QuoteIdent(f.name) + " " + f.typ.SQL()
		}
		return "STRUCT(" + strings.Join(parts, ", ") + ")"
	}
	return sqlNames[t.Kind]
}

// ArrowType is how a table's type is staged, or nil if it has no such form.
func (t *DataType) ArrowType() arrow.DataType {
	switch t.Kind {
	case KindBoolean:
		return arrow.FixedWidthTypes.Boolean
	case kindByte:
		return arrow.PrimitiveTypes.Int8
	case kindShort:
		return arrow.PrimitiveTypes.Int16
	case kindInteger:
		return arrow.PrimitiveTypes.Int32
	case kindLong:
		return arrow.PrimitiveTypes.Int64
	case KindFloat:
		return arrow.PrimitiveTypes.Float32
	case KindDouble:
		return arrow.PrimitiveTypes.Float64
	case kindDecimal:
		return &arrow.Decimal128Type{Precision: t.precision, Scale: t.scale}
	case KindString:
		return arrow.BinaryTypes.String
	case kindBinary:
		return arrow.BinaryTypes.Binary
	case kindDate:
		return arrow.FixedWidthTypes.Date32
	case kindTimestamp:
		return &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}
	case kindTimestampNTZ:
		return &arrow.TimestampType{Unit: arrow.Microsecond}
	}
	return t.nestedArrowType()
}

func (t *DataType) nestedArrowType() arrow.DataType {
	parts := make([]arrow.DataType, len(t.fields))
	for i, f := range t.fields {
		if parts[i] = f.typ.ArrowType(); parts[i] == nil {
			return nil
		}
	}
	switch t.Kind {
	case KindArray:
		return arrow.ListOf(parts[0])
	case KindMap:
		return arrow.MapOf(parts[0], parts[1])
	case KindStruct:
		if len(parts) == 0 {
			return nil // Parquet has no struct without members
		}
		fields := make([]arrow.Field, len(parts))
		for i, f := range t.fields {
			fields[i] = arrow.Field{Name: f.name, Type: parts[i], Nullable: true}
		}
		return arrow.StructOf(fields...)
	}
	return nil
}

// hasNestedKey reports maps whose keys are no scalars.
func (t *DataType) hasNestedKey() bool {
	for _, f := range t.fields {
		if f.typ.hasNestedKey() {
			return true
		}
	}
	return t.Kind == KindMap && len(t.fields[0].typ.fields) > 0
}

// Expects says what a value of the type looks like in a body of text.
func (t *DataType) Expects() string {
	if t.expected == "" { // cached, because a body can have a problem for every two bytes
		t.expected = t.describe()
	}
	return t.expected
}

func (t *DataType) describe() string {
	switch t.Kind {
	case KindBoolean:
		return "expected true or false"
	case kindByte, kindShort, kindInteger, kindLong:
		low, high := integerRange(t.Kind)
		return "expected a whole number from " + strconv.FormatInt(low, 10) + " to " + strconv.FormatInt(high, 10)
	case KindFloat, KindDouble:
		return "expected a number in the range of " + sqlNames[t.Kind] + ", or NaN, Infinity, -Infinity as text"
	case kindDecimal:
		return fmt.Sprintf("expected a number with at most %d digits before and %d after the point", t.precision-t.scale, t.scale)
	case KindString:
		return "expected a string"
	case kindBinary:
		return "expected base64 text"
	case kindDate:
		return "expected a date: YYYY-MM-DD"
	case kindTimestamp:
		return "expected a timestamp with offset and at most 6 digits after the second: 2024-05-06T07:08:09.123456Z"
	case kindTimestampNTZ:
		return "expected a timestamp without offset and at most 6 digits after the second: 2024-05-06T07:08:09.123456"
	case KindArray:
		return "expected a list"
	case KindMap:
		return `expected a list of {"key": …, "value": …}, or an object`
	case KindStruct:
		return "expected an object"
	}
	return "expected another type"
}

// integerRange are the smallest and the largest value of an integer kind.
func integerRange(k kind) (int64, int64) {
	switch k {
	case kindByte:
		return -1 << 7, 1<<7 - 1
	case kindShort:
		return -1 << 15, 1<<15 - 1
	case kindInteger:
		return -1 << 31, 1<<31 - 1
	}
	return -1 << 63, 1<<63 - 1
}
