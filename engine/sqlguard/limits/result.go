package limits

import (
	"github.com/lakewarden/lakewarden/engine/sqltree"
)

// mergingCalls holds the functions that return one of their arguments, or a list of
// elements of them.
var mergingCalls = sqltree.Set("||", "list_concat", "list_cat", "array_concat", "array_cat", "list_append", "array_append",
	"array_push_back", "if", "ifnull", "nullif", "min", "max", "first", "last", "any_value", "arbitrary", "greatest", "least",
	"lag", "lead", "first_value", "last_value", "nth_value", "list_sort", "array_sort", "list_distinct", "array_distinct",
	"list_reverse", "array_reverse", "list_filter", "array_filter", "filter", "list_slice", "array_slice", "coalesce",
	"constant_or_null")

// scalarCalls holds the functions that return a number or a text, whatever their
// arguments are.
var scalarCalls = sqltree.Set("count", "count_star", "count_if", "countif", "approx_count_distinct", "hash", "len", "length",
	"array_length", "cardinality", "to_json", "row_to_json", "array_to_json", "json_object", "json_array", "typeof", "list_contains",
	"array_contains",
	"list_has", "array_has", "contains", "list_sum", "sum", "avg", "md5", "concat", "concat_ws", "string_agg", "listagg", "group_concat")

// typeOfResult returns the type of an expression with the given operands, or a larger
// one.
func (p *plan) typeOfResult(n *sqltree.Node, parts []column) *dataType {
	types := make([]*dataType, len(parts))
	scalar := true
	for i := range parts {
		types[i] = parts[i].typ
		scalar = scalar && types[i].scalar()
	}
	name := n.Function()
	switch class := n.Str("class"); {
	case class == "COMPARISON", class == "CONJUNCTION", class == "BETWEEN", class == "CONSTANT", class == "PARAMETER":
		return scalarType
	case class == "OPERATOR":
		switch n.Str("type") {
		case "COMPARE_IN", "COMPARE_NOT_IN", "OPERATOR_NOT", "OPERATOR_IS_NULL", "OPERATOR_IS_NOT_NULL", "GROUPING_FUNCTION":
			return scalarType
		case "ARRAY_CONSTRUCTOR":
			return listType(p.commonType(types))
		case "ARRAY_EXTRACT", "STRUCT_EXTRACT":
			return extracted(n, types)
		case "OPERATOR_COALESCE", "OPERATOR_NULLIF", "ARRAY_SLICE", "OPERATOR_TRY":
			return p.commonType(types)
		}
	case class == "CASE":
		return p.commonType(types)
	case class != "FUNCTION" && class != "WINDOW", scalarCalls[name]:
	case mergingCalls[name]:
		return p.commonType(types)
	case name == "unnest" && len(types) > 0:
		return types[0]
	case name == "struct_pack" || name == "row":
		return packed(parts)
	case name == "list_value" || name == "list_pack" || name == "array_value":
		return listType(p.commonType(types))
	case name == "list" || name == "array_agg":
		return listType(joined(types))
	case name == "struct_extract" || name == "array_extract" || name == "list_extract" || name == "list_element":
		return extracted(n, types)
	case madeFromScalars[name]:
		return opaqueType(sum(2, joined(append(types, listType(scalarType))).members))
	}
	if scalar || scalarCalls[name] {
		return scalarType
	}
	return joined(types)
}

// madeFromScalars holds the functions that build a nested type of any arguments.
var madeFromScalars = sqltree.Set("map", "map_from_entries", "list_zip", "array_zip", "struct_insert", "struct_concat", "map_concat",
	"union_value", "histogram", "histogram_exact", "unpivot_list", "from_json", "from_json_strict", "json_transform", "json_transform_strict")

func (p *plan) commonType(types []*dataType) *dataType {
	out := scalarType
	for _, t := range types {
		out = p.common(out, t)
	}
	return out
}

// packed returns the STRUCT of the given members.
func packed(parts []column) *dataType {
	fields := make(map[string]*dataType, len(parts))
	members := int64(2)
	for _, c := range parts {
		fields[c.name] = c.typ
		members = sum(members, c.typ.members)
	}
	if len(fields) < len(parts) || fields[""] != nil {
		return opaqueType(members)
	}
	return structType(fields)
}

// extracted returns the type of an element of a list, or of a member of a STRUCT.
func extracted(n *sqltree.Node, types []*dataType) *dataType {
	if len(types) == 0 {
		return scalarType
	}
	if of := types[0]; of.element != nil {
		return of.element
	}
	if key := n.Argument(1); key != nil {
		if lit, ok := sqltree.LiteralOf(key); ok {
			return types[0].field(lit.Text)
		}
	}
	return types[0]
}
