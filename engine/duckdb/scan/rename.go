package scan

import (
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// rename is SQL that gives the members of value, which is of type have, the names
// that they have in type want. It is value itself when no name differs, and false
// when something else does. depth is that of the lambda around it.
func rename(value string, have, want sqltype.Type, depth int) (string, bool) {
	if sqltype.Equal(have, want) {
		return value, true
	}
	from, to := members(have), members(want)
	if !alike(have, want) || from == nil || len(from) != len(to) {
		return "", false
	}
	v := "v" + strconv.Itoa(depth)
	names := []string{v}
	switch have.(type) {
	case *sqltype.Struct:
		return renameMembers(value, from, to, depth)
	case sqltype.Map:
		names = []string{v + ".key", v + ".value"}
	}
	items := make([]string, len(from))
	for i := range from {
		var ok bool
		if items[i], ok = rename(names[i], from[i].Type, to[i].Type, depth+1); !ok {
			return "", false
		}
	}
	if len(items) == 1 {
		return "list_transform(" + value + ", lambda " + v + ": " + items[0] + ")", true
	}
	entries := "list_transform(map_entries(" + value + "), lambda " + v + ": {'key': " + items[0] + ", 'value': " + items[1] + "})"
	return unlessNull(value, "map_from_entries("+entries+")"), true
}

func renameMembers(value string, have, want []sqltype.Field, depth int) (string, bool) {
	items := make([]string, len(want))
	for i, w := range want {
		member := "struct_extract(" + value + ", " + engine.QuoteString(have[i].Name) + ")"
		item, ok := rename(member, have[i].Type, w.Type, depth)
		if !ok {
			return "", false
		}
		items[i] = engine.QuoteString(w.Name) + ": " + item
	}
	return unlessNull(value, "{"+strings.Join(items, ", ")+"}"), true
}

// unlessNull keeps a NULL one: its members would make a value.
func unlessNull(value, made string) string {
	return "CASE WHEN " + value + " IS NULL THEN NULL ELSE " + made + " END"
}
