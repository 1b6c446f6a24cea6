package sqlguard

import "strings"

// castTypes are the types that a cast may name. BIGNUM is missing because its
// conversion cannot be interrupted, VARIANT and GEOMETRY because they are not
// served, ENUM because it needs a catalog entry.
var castTypes = set("BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER",
	"UBIGINT", "UHUGEINT", "FLOAT", "DOUBLE", "DECIMAL", "VARCHAR", "CHAR", "BLOB", "BIT", "DATE", "TIME", "TIME_NS",
	"TIME WITH TIME ZONE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMP WITH TIME ZONE",
	"INTERVAL", "UUID", "NULL", "LIST", "ARRAY", "STRUCT", "MAP", "UNION")

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
