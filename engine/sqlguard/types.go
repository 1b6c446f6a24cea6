package sqlguard

import "strings"

// castTypes are the types that a cast may name. BIGNUM is missing because its
// conversion cannot be interrupted, VARIANT and GEOMETRY because they are not
// served, ENUM because it needs a catalog entry.
var castTypes = set("BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER",
	"UBIGINT", "UHUGEINT", "FLOAT", "DOUBLE", "DECIMAL", "VARCHAR", "CHAR", "BLOB", "BIT", "DATE", "TIME", "TIME_NS",
	"TIME WITH TIME ZONE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMP WITH TIME ZONE",
	"INTERVAL", "UUID", "NULL", "LIST", "ARRAY", "STRUCT", "MAP", "UNION")

// unservedType refuses a type whose parameters the grammar does not have: the
// parser gives those that it cannot make sense of a form of their own.
func unservedType(info *node) *Error {
	name := info.str("name") + info.str("alias") // one of them is empty
	switch strings.ToUpper(name) {
	case "DECIMAL", "NUMERIC", "DEC":
		return refuse(CodeType, name, "%s has at most 38 digits, and at most as many behind the point", name)
	case "":
		return refuse(CodeType, "", "this type is not served")
	default:
		return refuse(CodeType, name, "the type %s is not served", name)
	}
}

// checkType refuses types outside the list, also inside nested types.
func checkType(t *node) *Error {
	if t == nil {
		return nil
	}
	id := t.str("id")
	info := t.child("type_info")
	if id == "UNBOUND" {
		if name := info.str("name"); !strings.EqualFold(name, "json") {
			return refuse(CodeType, name, "no type %s can be used here", name)
		}
		return nil
	}
	if !castTypes[id] {
		return refuse(CodeType, id, "the type %s is not served", id)
	}
	if err := checkType(info.child("child_type")); err != nil {
		return err
	}
	for _, f := range info.list("child_types") {
		if err := checkType(f.(*node).child("second")); err != nil {
			return err
		}
	}
	return nil
}
