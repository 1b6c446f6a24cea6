package sqltree

import "strconv"

// Constructors of tree nodes, with every field that DuckDB requires.

func Expression(class, typ string, pairs ...any) *Node {
	return Object(append([]any{"class", class, "type", typ, "alias", ""}, pairs...)...)
}

func Type(id string) *Node { return Object("id", id, "type_info", nil) }

func constant(typ string, v any) *Node {
	return Expression("CONSTANT", "VALUE_CONSTANT", "value", Object("type", Type(typ), "is_null", false, "value", v))
}

func Text(s string) *Node   { return constant("VARCHAR", s) }
func Integer(i int64) *Node { return constant("INTEGER", Number(strconv.FormatInt(i, 10))) }

func Cast(child *Node, typ string) *Node {
	return Expression("CAST", "OPERATOR_CAST", "child", child, "cast_type", Type(typ), "try_cast", false)
}

func Column(parts ...string) *Node {
	names := make([]any, len(parts))
	for i, p := range parts {
		names[i] = p
	}
	return Expression("COLUMN_REF", "COLUMN_REF", "column_names", names)
}

func Call(name string, operator bool, args ...any) *Node {
	return Expression("FUNCTION", "FUNCTION", "function_name", name, "schema", "", "children", args, "filter", nil,
		"order_bys", Object("type", "ORDER_MODIFIER", "orders", []any{}), "distinct", false, "is_operator", operator,
		"export_state", false, "catalog", "")
}

func Greater(left, right *Node) *Node {
	return Expression("COMPARISON", "COMPARE_GREATERTHAN", "left", left, "right", right)
}

func Case(when, then, otherwise *Node) *Node {
	return Expression("CASE", "CASE_EXPR", "case_checks", []any{Object("when_expr", when, "then_expr", then)}, "else_expr", otherwise)
}

func Select(list []any, from *Node) *Node {
	return Object("type", "SELECT_NODE", "modifiers", []any{}, "cte_map", Object("map", []any{}), "select_list", list,
		"from_table", from, "where_clause", nil, "group_expressions", []any{}, "group_sets", []any{},
		"aggregate_handling", "STANDARD_HANDLING", "having", nil, "sample", nil, "qualify", nil)
}

func Statement(query *Node) *Node { return Object("node", query, "named_param_map", []any{}) }

func EmptyFrom() *Node { return Object("type", "EMPTY", "alias", "", "sample", nil) }

func Table(catalog, schema, name string) *Node {
	return Object("type", "BASE_TABLE", "alias", "", "sample", nil, "schema_name", schema, "table_name", name,
		"column_name_alias", []any{}, "catalog_name", catalog, "at_clause", nil)
}

// Document wraps a statement as the parser does.
func Document(stmt *Node) *Node { return Object("error", false, "statements", []any{stmt}) }
