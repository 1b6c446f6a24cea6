package scan

import (
	"strconv"
	"strings"

	duck "github.com/duckdb/duckdb-go-bindings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/duckdb/native"
)

// rename returns SQL that gives the members of value, of type have, the names that they have
// in type want; it is value itself if no name differs. It returns false if the types differ in
// more than names. depth is that of the enclosing lambda.
func rename(value string, have, want duck.LogicalType, depth int) (string, bool) {
	if native.TypeName(have) == native.TypeName(want) {
		return value, true
	}
	if duck.GetTypeId(have) != duck.GetTypeId(want) {
		return "", false
	}
	v := "v" + strconv.Itoa(depth)
	switch duck.GetTypeId(have) {
	case duck.TypeStruct:
		return renameMembers(value, have, want, depth)
	case duck.TypeList:
		element, ok := renameChild(v, duck.ListTypeChildType(have), duck.ListTypeChildType(want), depth+1)
		return "list_transform(" + value + ", lambda " + v + ": " + element + ")", ok
	case duck.TypeMap:
		key, okKey := renameChild(v+".key", duck.MapTypeKeyType(have), duck.MapTypeKeyType(want), depth+1)
		item, okItem := renameChild(v+".value", duck.MapTypeValueType(have), duck.MapTypeValueType(want), depth+1)
		entries := "list_transform(map_entries(" + value + "), lambda " + v + ": {'key': " + key + ", 'value': " + item + "})"
		return unlessNull(value, "map_from_entries("+entries+")"), okKey && okItem
	}
	return "", false
}

func renameMembers(value string, have, want duck.LogicalType, depth int) (string, bool) {
	n := duck.StructTypeChildCount(want)
	if n != duck.StructTypeChildCount(have) {
		return "", false
	}
	items := make([]string, n)
	for i := range n {
		member := "struct_extract(" + value + ", " + engine.QuoteString(duck.StructTypeChildName(have, i)) + ")"
		item, ok := renameChild(member, duck.StructTypeChildType(have, i), duck.StructTypeChildType(want, i), depth)
		if !ok {
			return "", false
		}
		items[i] = engine.QuoteString(duck.StructTypeChildName(want, i)) + ": " + item
	}
	return unlessNull(value, "{"+strings.Join(items, ", ")+"}"), true
}

// renameChild is rename for types that it destroys.
func renameChild(value string, have, want duck.LogicalType, depth int) (string, bool) {
	defer duck.DestroyLogicalType(&have)
	defer duck.DestroyLogicalType(&want)
	return rename(value, have, want, depth)
}

// unlessNull returns SQL that is NULL if value is: a value made of its members would not be.
func unlessNull(value, made string) string {
	return "CASE WHEN " + value + " IS NULL THEN NULL ELSE " + made + " END"
}
