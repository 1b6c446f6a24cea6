package grammar

import (
	"strings"

	"github.com/lakewarden/lakewarden/engine/sqlguard/refusal"
	"github.com/lakewarden/lakewarden/engine/sqltree"
)

// castTypes holds the types that a cast may name. BIGNUM is missing because its conversion
// cannot be interrupted, VARIANT and GEOMETRY because they are not supported, and ENUM
// because it needs a catalog entry.
var castTypes = sqltree.Set("BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER",
	"UBIGINT", "UHUGEINT", "FLOAT", "DOUBLE", "DECIMAL", "VARCHAR", "CHAR", "BLOB", "BIT", "DATE", "TIME", "TIME_NS",
	"TIME WITH TIME ZONE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMP WITH TIME ZONE",
	"INTERVAL", "UUID", "NULL", "LIST", "ARRAY", "STRUCT", "MAP", "UNION")

// unservedType refuses a type with parameters that the grammar lacks. The parser represents
// types that it does not recognise in this way.
func unservedType(info *sqltree.Node) *refusal.Error {
	name := info.Str("name") + info.Str("alias") // one of them is empty
	switch strings.ToUpper(name) {
	case "DECIMAL", "NUMERIC", "DEC":
		return refusal.New(refusal.CodeType, name, "%s has at most 38 digits, and at most as many behind the point", name)
	case "":
		return refusal.New(refusal.CodeType, "", "this type is not served")
	default:
		return refusal.New(refusal.CodeType, name, "the type %s is not served", name)
	}
}

// CheckType refuses types outside the list, also inside nested types.
func CheckType(t *sqltree.Node) *refusal.Error {
	if t == nil {
		return nil
	}
	id := t.Str("id")
	info := t.Child("type_info")
	if id == "UNBOUND" {
		if name := info.Str("name"); !strings.EqualFold(name, "json") {
			return refusal.New(refusal.CodeType, name, "no type %s can be used here", name)
		}
		return nil
	}
	if !castTypes[id] {
		return refusal.New(refusal.CodeType, id, "the type %s is not served", id)
	}
	if err := CheckType(info.Child("child_type")); err != nil {
		return err
	}
	for f := range info.Each("child_types") {
		if err := CheckType(f.Child("second")); err != nil {
			return err
		}
	}
	return nil
}
