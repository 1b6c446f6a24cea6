package sqlguard

import "strings"

// The engine names an unnamed result column by the text of its expression, and
// prints a type that the user wrote ("DATE") in another way than one that its
// own parser put there (DOUBLE, in the casts that INTERVAL 3 DAY becomes). The
// tree keeps no trace of that difference; asWritten puts it back.

// isInterval recognises what INTERVAL <number> <unit> becomes.
func isInterval(n *node) bool {
	if !strings.HasPrefix(n.str("function_name"), "to_") {
		return false
	}
	outer := argument(n, 0)
	trunc := outer.child("child")
	return outer.is("class", "CAST") && trunc.is("function_name", "trunc") && argument(trunc, 0).is("class", "CAST")
}

// asWritten changes a copy of an expression so that it prints with the name
// that the engine gave the original.
func asWritten(v any) {
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			asWritten(x)
		}
	case *node:
		if v == nil {
			return
		}
		if isInterval(v) {
			asWritten(argument(argument(v, 0).child("child"), 0).get("child"))
			return
		}
		if v.is("class", "CAST") {
			v.set("cast_type", writtenType(v.child("cast_type")))
		}
		for i, k := range v.keys {
			if k != "cast_type" {
				asWritten(v.vals[i])
			}
		}
	}
}

// writtenType turns a type into the unresolved form that users write.
func writtenType(t *node) *node {
	id, info := t.str("id"), t.child("type_info")
	modifiers := []any{}
	switch id {
	case "UNBOUND", "STRUCT", "MAP", "UNION":
		return t
	case "LIST", "ARRAY":
		child := writtenType(info.child("child_type"))
		info = info.clone()
		info.set("child_type", child)
		return obj("id", id, "type_info", info)
	case "DECIMAL":
		for _, k := range []string{"width", "scale"} {
			modifiers = append(modifiers, obj("type", typeNode("INTEGER"), "is_null", false, "value", info.get(k)))
		}
	}
	return obj("id", "UNBOUND", "type_info", obj("type", "UNBOUND_TYPE_INFO", "alias", "", "extension_info", nil,
		"name", id, "catalog", "", "schema", "", "user_type_modifiers", modifiers))
}
