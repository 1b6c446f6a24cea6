package native

import (
	"strconv"
	"strings"

	duck "github.com/duckdb/duckdb-go-bindings"

	"github.com/lakewarden/lakewarden/engine"
)

var scalarNames = map[duck.Type]string{
	duck.TypeBoolean:     "BOOLEAN",
	duck.TypeTinyInt:     "TINYINT",
	duck.TypeSmallInt:    "SMALLINT",
	duck.TypeInteger:     "INTEGER",
	duck.TypeBigInt:      "BIGINT",
	duck.TypeUTinyInt:    "UTINYINT",
	duck.TypeUSmallInt:   "USMALLINT",
	duck.TypeUInteger:    "UINTEGER",
	duck.TypeUBigInt:     "UBIGINT",
	duck.TypeFloat:       "FLOAT",
	duck.TypeDouble:      "DOUBLE",
	duck.TypeTimestamp:   "TIMESTAMP",
	duck.TypeDate:        "DATE",
	duck.TypeTime:        "TIME",
	duck.TypeInterval:    "INTERVAL",
	duck.TypeHugeInt:     "HUGEINT",
	duck.TypeUHugeInt:    "UHUGEINT",
	duck.TypeVarchar:     "VARCHAR",
	duck.TypeBlob:        "BLOB",
	duck.TypeTimestampS:  "TIMESTAMP_S",
	duck.TypeTimestampMS: "TIMESTAMP_MS",
	duck.TypeTimestampNS: "TIMESTAMP_NS",
	duck.TypeUUID:        "UUID",
	duck.TypeBit:         "BIT",
	duck.TypeTimeTZ:      "TIME WITH TIME ZONE",
	duck.TypeTimestampTZ: "TIMESTAMP WITH TIME ZONE",
	duck.TypeBigNum:      "BIGNUM",
	duck.TypeSQLNull:     `"NULL"`,
	duck.TypeTimeNS:      "TIME_NS",
	duck.TypeGeometry:    "GEOMETRY",
	duck.TypeVariant:     "VARIANT",
}

// TypeName prints a type as DuckDB's typeof does.
func TypeName(t duck.LogicalType) string {
	if alias := duck.LogicalTypeGetAlias(t); alias != "" {
		return alias
	}
	id := duck.GetTypeId(t)
	switch id {
	case duck.TypeDecimal:
		return "DECIMAL(" + strconv.Itoa(int(duck.DecimalWidth(t))) + "," + strconv.Itoa(int(duck.DecimalScale(t))) + ")"
	case duck.TypeEnum:
		values := make([]string, duck.EnumDictionarySize(t))
		for i := range values {
			values[i] = engine.QuoteString(duck.EnumDictionaryValue(t, duck.IdxT(i)))
		}
		return "ENUM(" + strings.Join(values, ", ") + ")"
	case duck.TypeList:
		return ChildTypeName(duck.ListTypeChildType(t)) + "[]"
	case duck.TypeArray:
		return ChildTypeName(duck.ArrayTypeChildType(t)) + "[" + strconv.FormatUint(uint64(duck.ArrayTypeArraySize(t)), 10) + "]"
	case duck.TypeMap:
		return "MAP(" + ChildTypeName(duck.MapTypeKeyType(t)) + ", " + ChildTypeName(duck.MapTypeValueType(t)) + ")"
	case duck.TypeStruct:
		fields := make([]string, duck.StructTypeChildCount(t))
		for i := range fields {
			name := duck.StructTypeChildName(t, duck.IdxT(i))
			child := ChildTypeName(duck.StructTypeChildType(t, duck.IdxT(i)))
			if name == "" {
				fields[i] = child
				continue
			}
			fields[i] = fieldName(name) + " " + child
		}
		return "STRUCT(" + strings.Join(fields, ", ") + ")"
	case duck.TypeUnion:
		members := make([]string, duck.UnionTypeMemberCount(t))
		for i := range members {
			members[i] = fieldName(duck.UnionTypeMemberName(t, duck.IdxT(i))) + " " + ChildTypeName(duck.UnionTypeMemberType(t, duck.IdxT(i)))
		}
		return "UNION(" + strings.Join(members, ", ") + ")"
	}
	if name, ok := scalarNames[id]; ok {
		return name
	}
	return "UNKNOWN"
}

// ChildTypeName is [TypeName] for a type that it destroys.
func ChildTypeName(t duck.LogicalType) string {
	defer duck.DestroyLogicalType(&t)
	return TypeName(t)
}

// fieldName prints the name of a field, quoted where DuckDB quotes it.
func fieldName(name string) string {
	for i, r := range name {
		if r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || i > 0 && '0' <= r && r <= '9' {
			continue
		}
		return engine.QuoteIdent(name)
	}
	if name == "" || isKeyword(name) {
		return engine.QuoteIdent(name)
	}
	return name
}
