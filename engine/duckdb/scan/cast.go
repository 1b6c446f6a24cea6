package scan

import (
	"strings"

	duck "github.com/duckdb/duckdb-go-bindings"
)

// castable reports whether a file's column may be read as the table's type: the cast keeps
// every value or fails. It allows type widening of the Delta protocol and the different types
// that writers use for one. Fields of structs are matched by name; a missing one is NULL.
func castable(have, want duck.LogicalType) bool {
	from, to := duck.GetTypeId(have), duck.GetTypeId(want)
	switch from {
	case duck.TypeList:
		return to == duck.TypeList && castableChild(duck.ListTypeChildType(have), duck.ListTypeChildType(want))
	case duck.TypeMap:
		return to == duck.TypeMap &&
			castableChild(duck.MapTypeKeyType(have), duck.MapTypeKeyType(want)) &&
			castableChild(duck.MapTypeValueType(have), duck.MapTypeValueType(want))
	case duck.TypeStruct:
		return to == duck.TypeStruct && castableFields(have, want)
	case duck.TypeDecimal:
		return to == duck.TypeDecimal && duck.DecimalScale(want) >= duck.DecimalScale(have)
	}
	return from == to || castableScalar(from, to)
}

func castableScalar(from, to duck.Type) bool {
	switch {
	case isInteger(from):
		// The cast checks the range. Every INTEGER is exact as a DOUBLE.
		return isInteger(to) || to == duck.TypeDecimal || to == duck.TypeDouble && isSmall(from)
	case from == duck.TypeFloat:
		return to == duck.TypeDouble
	case from == duck.TypeDate:
		return to == duck.TypeTimestamp
	case isTimestamp(from):
		// Timestamps without a zone are in UTC, as the session is.
		return to == duck.TypeTimestamp || to == duck.TypeTimestampTZ
	}
	return false
}

func isInteger(t duck.Type) bool {
	switch t {
	case duck.TypeTinyInt, duck.TypeSmallInt, duck.TypeInteger, duck.TypeBigInt,
		duck.TypeUTinyInt, duck.TypeUSmallInt, duck.TypeUInteger, duck.TypeUBigInt:
		return true
	}
	return false
}

func isSmall(t duck.Type) bool { return t != duck.TypeBigInt && t != duck.TypeUBigInt }

func isTimestamp(t duck.Type) bool {
	switch t {
	case duck.TypeTimestamp, duck.TypeTimestampTZ, duck.TypeTimestampS, duck.TypeTimestampMS, duck.TypeTimestampNS:
		return true
	}
	return false
}

// castableFields requires at least one field in common, as the cast does.
func castableFields(have, want duck.LogicalType) bool {
	common := false
	for i := range duck.StructTypeChildCount(want) {
		name := duck.StructTypeChildName(want, i)
		for j := range duck.StructTypeChildCount(have) {
			if !strings.EqualFold(duck.StructTypeChildName(have, j), name) {
				continue
			}
			if !castableChild(duck.StructTypeChildType(have, j), duck.StructTypeChildType(want, i)) {
				return false
			}
			common = true
		}
	}
	return common
}

func castableChild(have, want duck.LogicalType) bool {
	defer duck.DestroyLogicalType(&have)
	defer duck.DestroyLogicalType(&want)
	return castable(have, want)
}
