package staging

import (
	"fmt"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakewarden/lakewarden/engine/sqltype"
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
	KindDate
	KindTimestamp
	KindTimestampNTZ
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
	// SQL is the type in SQL, nil for columns of Arrow streams.
	SQL sqltype.Type
	// precision and scale are those of a decimal.
	precision, scale int32
	// fields are the members of a struct; the element of an array; key and value
	// of a map.
	fields []member
	// expected caches the text of the expected values.
	expected string
}

// member is a named part of a type.
type member struct {
	name string
	typ  *DataType
}

var scalarKinds = map[sqltype.Scalar]kind{
	sqltype.Boolean: KindBoolean, sqltype.TinyInt: kindByte, sqltype.SmallInt: kindShort, sqltype.Integer: kindInteger,
	sqltype.BigInt: kindLong,
	sqltype.Float:  KindFloat, sqltype.Double: KindDouble, sqltype.Varchar: KindString, sqltype.Blob: kindBinary, sqltype.Date: KindDate,
	sqltype.TimestampTZ: KindTimestamp, sqltype.Timestamp: KindTimestampNTZ,
	sqltype.Null: KindNull, sqltype.UTinyInt: kindUByte, sqltype.USmallInt: kindUShort, sqltype.UInteger: kindUInteger,
	sqltype.UBigInt: kindULong,
	sqltype.HugeInt: kindHuge, sqltype.UHugeInt: kindUHuge, sqltype.JSON: KindJSON,
	sqltype.TimestampS: kindTimestampS, sqltype.TimestampMS: kindTimestampMS, sqltype.TimestampNS: kindTimestampNS,
}

// OfSQL returns the type of a column of a table or of a Parquet file.
func OfSQL(t sqltype.Type) *DataType {
	out := &DataType{Kind: kindOther, SQL: t}
	for _, f := range sqltype.Parts(t) {
		out.fields = append(out.fields, member{f.Name, OfSQL(f.Type)})
	}
	switch t := t.(type) {
	case sqltype.Scalar:
		if k, ok := scalarKinds[t]; ok {
			out.Kind = k
		}
	case sqltype.Decimal:
		out.Kind, out.precision, out.scale = kindDecimal, int32(t.Precision), int32(t.Scale) //nolint:gosec // at most 38
	case sqltype.List:
		out.Kind = KindArray
	case sqltype.Array:
		out.Kind = kindFixedArray
	case sqltype.Map:
		out.Kind = KindMap
	case *sqltype.Struct:
		out.Kind = KindStruct
	case *sqltype.Enum:
		out.Kind = kindEnum
	}
	return out
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
	case KindDate:
		return arrow.FixedWidthTypes.Date32
	case KindTimestamp:
		return &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}
	case KindTimestampNTZ:
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
		return "expected a number in the range of " + t.SQL.String() + ", or NaN, Infinity, -Infinity as text"
	case kindDecimal:
		return fmt.Sprintf("expected a number with at most %d digits before and %d after the point", t.precision-t.scale, t.scale)
	case KindString:
		return "expected a string"
	case kindBinary:
		return "expected base64 text"
	case KindDate:
		return "expected a date: YYYY-MM-DD"
	case KindTimestamp:
		return "expected a timestamp with offset and at most 6 digits after the second: 2024-05-06T07:08:09.123456Z"
	case KindTimestampNTZ:
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

// HasEmptyText reports whether an empty text is a value of the type.
func (t *DataType) HasEmptyText() bool { return t.Kind == KindString || t.Kind == kindBinary }

// IsNumber reports whether values of the type are numbers.
func (t *DataType) IsNumber() bool {
	switch t.Kind {
	case kindByte, kindShort, kindInteger, kindLong, kindDecimal, KindFloat, KindDouble:
		return true
	}
	return false
}
