package sqlguard

import "strconv"

// Constructors of tree nodes, with every field that DuckDB requires.

func expression(class, typ string, pairs ...any) *node {
	return obj(append([]any{"class", class, "type", typ, "alias", ""}, pairs...)...)
}

func typeNode(id string) *node { return obj("id", id, "type_info", nil) }

func constNode(typ string, v any) *node {
	return expression("CONSTANT", "VALUE_CONSTANT", "value", obj("type", typeNode(typ), "is_null", false, "value", v))
}

func textNode(s string) *node { return constNode("VARCHAR", s) }
func intNode(i int64) *node   { return constNode("INTEGER", number(strconv.FormatInt(i, 10))) }

func castNode(child *node, typ string) *node {
	return expression("CAST", "OPERATOR_CAST", "child", child, "cast_type", typeNode(typ), "try_cast", false)
}

func columnNode(parts ...string) *node {
	names := make([]any, len(parts))
	for i, p := range parts {
		names[i] = p
	}
	return expression("COLUMN_REF", "COLUMN_REF", "column_names", names)
}

func callNode(name string, operator bool, args ...any) *node {
	return expression("FUNCTION", "FUNCTION", "function_name", name, "schema", "", "children", args, "filter", nil,
		"order_bys", obj("type", "ORDER_MODIFIER", "orders", []any{}), "distinct", false, "is_operator", operator,
		"export_state", false, "catalog", "")
}

func greaterNode(left, right *node) *node {
	return expression("COMPARISON", "COMPARE_GREATERTHAN", "left", left, "right", right)
}

func caseNode(when, then, otherwise *node) *node {
	return expression("CASE", "CASE_EXPR", "case_checks", []any{obj("when_expr", when, "then_expr", then)}, "else_expr", otherwise)
}

func selectNode(list []any, from *node) *node {
	return obj("type", "SELECT_NODE", "modifiers", []any{}, "cte_map", obj("map", []any{}), "select_list", list,
		"from_table", from, "where_clause", nil, "group_expressions", []any{}, "group_sets", []any{},
		"aggregate_handling", "STANDARD_HANDLING", "having", nil, "sample", nil, "qualify", nil)
}

func statementNode(query *node) *node { return obj("node", query, "named_param_map", []any{}) }

func emptyFrom() *node { return obj("type", "EMPTY", "alias", "", "sample", nil) }

func tableNode(catalog, schema, name string) *node {
	return obj("type", "BASE_TABLE", "alias", "", "sample", nil, "schema_name", schema, "table_name", name,
		"column_name_alias", []any{}, "catalog_name", catalog, "at_clause", nil)
}

// document wraps a statement as the parser does.
func document(stmt *node) *node { return obj("error", false, "statements", []any{stmt}) }
