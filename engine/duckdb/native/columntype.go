package native

import (
	duck "github.com/duckdb/duckdb-go-bindings"

	"github.com/lakewarden/lakewarden/engine/sqltype"
)

var scalarTypes = map[duck.Type]sqltype.Scalar{
	duck.TypeBoolean:     sqltype.Boolean,
	duck.TypeTinyInt:     sqltype.TinyInt,
	duck.TypeSmallInt:    sqltype.SmallInt,
	duck.TypeInteger:     sqltype.Integer,
	duck.TypeBigInt:      sqltype.BigInt,
	duck.TypeUTinyInt:    sqltype.UTinyInt,
	duck.TypeUSmallInt:   sqltype.USmallInt,
	duck.TypeUInteger:    sqltype.UInteger,
	duck.TypeUBigInt:     sqltype.UBigInt,
	duck.TypeFloat:       sqltype.Float,
	duck.TypeDouble:      sqltype.Double,
	duck.TypeTimestamp:   sqltype.Timestamp,
	duck.TypeDate:        sqltype.Date,
	duck.TypeTime:        sqltype.Time,
	duck.TypeInterval:    sqltype.Interval,
	duck.TypeHugeInt:     sqltype.HugeInt,
	duck.TypeUHugeInt:    sqltype.UHugeInt,
	duck.TypeVarchar:     sqltype.Varchar,
	duck.TypeBlob:        sqltype.Blob,
	duck.TypeTimestampS:  sqltype.TimestampS,
	duck.TypeTimestampMS: sqltype.TimestampMS,
	duck.TypeTimestampNS: sqltype.TimestampNS,
	duck.TypeUUID:        sqltype.UUID,
	duck.TypeBit:         sqltype.Bit,
	duck.TypeTimeTZ:      sqltype.TimeTZ,
	duck.TypeTimestampTZ: sqltype.TimestampTZ,
	duck.TypeBigNum:      sqltype.BigNum,
	duck.TypeSQLNull:     sqltype.Null,
	duck.TypeTimeNS:      sqltype.TimeNS,
	duck.TypeGeometry:    sqltype.Geometry,
	duck.TypeVariant:     sqltype.Variant,
}

// TypeOf converts a type of the engine. A type that it does not know becomes [sqltype.Unknown].
func TypeOf(t duck.LogicalType) sqltype.Type {
	if duck.LogicalTypeGetAlias(t) == string(sqltype.JSON) {
		return sqltype.JSON
	}
	id := duck.GetTypeId(t)
	switch id {
	case duck.TypeDecimal:
		return sqltype.Decimal{Precision: int(duck.DecimalWidth(t)), Scale: int(duck.DecimalScale(t))}
	case duck.TypeEnum:
		values := make([]string, duck.EnumDictionarySize(t))
		for i := range values {
			values[i] = duck.EnumDictionaryValue(t, duck.IdxT(i))
		}
		return &sqltype.Enum{Values: values}
	case duck.TypeList:
		return sqltype.List{Element: takeType(duck.ListTypeChildType(t))}
	case duck.TypeArray:
		return sqltype.Array{Element: takeType(duck.ArrayTypeChildType(t)),
			Length: uint32(duck.ArrayTypeArraySize(t))} //nolint:gosec // DuckDB's limit is 100,000
	case duck.TypeMap:
		return sqltype.Map{Key: takeType(duck.MapTypeKeyType(t)), Value: takeType(duck.MapTypeValueType(t))}
	case duck.TypeStruct:
		return &sqltype.Struct{Fields: fieldsOf(t, duck.StructTypeChildCount(t), duck.StructTypeChildName, duck.StructTypeChildType)}
	case duck.TypeUnion:
		return &sqltype.Union{Fields: fieldsOf(t, duck.UnionTypeMemberCount(t), duck.UnionTypeMemberName, duck.UnionTypeMemberType)}
	}
	if scalar, ok := scalarTypes[id]; ok {
		return scalar
	}
	return sqltype.Unknown
}

func fieldsOf(t duck.LogicalType, count duck.IdxT, name func(duck.LogicalType, duck.IdxT) string,
	child func(duck.LogicalType, duck.IdxT) duck.LogicalType) []sqltype.Field {
	fields := make([]sqltype.Field, count)
	for i := range count {
		fields[i] = sqltype.Field{Name: name(t, i), Type: takeType(child(t, i))}
	}
	return fields
}

// takeType is [TypeOf] for a type that it destroys.
func takeType(t duck.LogicalType) sqltype.Type {
	defer duck.DestroyLogicalType(&t)
	return TypeOf(t)
}
