package sqltree

import "strconv"

// Constructors of nodes, with every field that DuckDB requires.

// Expression returns an expression with further fields, as name and value in turn.
func Expression(class, typ string, pairs ...any) *Node {
	return Object(append([]any{"class", class, "type", typ, "alias", ""}, pairs...)...)
}

// Type returns a type without parameters.
func Type(id string) *Node { return Object("id", id, "type_info", nil) }

func constant(typ string, v any) *Node {
	return Expression("CONSTANT", "VALUE_CONSTANT", "value", Object("type", Type(typ), "is_null", false, "value", v))
}

// Text returns a VARCHAR constant.
func Text(s string) *Node { return constant("VARCHAR", s) }

// Integer returns an INTEGER constant.
func Integer(i int64) *Node { return constant("INTEGER", Number(strconv.FormatInt(i, 10))) }

// Cast returns a cast to a type without parameters.
func Cast(child *Node, typ string) *Node {
	return Expression("CAST", "OPERATOR_CAST", "child", child, "cast_type", Type(typ), "try_cast", false)
}

// Column returns a column by its name and qualifiers.
func Column(parts ...string) *Node {
	names := make([]any, len(parts))
	for i, p := range parts {
		names[i] = p
	}
	return Expression("COLUMN_REF", "COLUMN_REF", "column_names", names)
}

// Call returns a call of a function or an operator.
func Call(name string, operator bool, args ...any) *Node {
	return Expression("FUNCTION", "FUNCTION", "function_name", name, "schema", "", "children", args, "filter", nil,
		"order_bys", Object("type", "ORDER_MODIFIER", "orders", []any{}), "distinct", false, "is_operator", operator,
		"export_state", false, "catalog", "")
}

// Greater returns left > right.
func Greater(left, right *Node) *Node {
	return Expression("COMPARISON", "COMPARE_GREATERTHAN", "left", left, "right", right)
}

// Case returns CASE WHEN when THEN then ELSE otherwise END.
func Case(when, then, otherwise *Node) *Node {
	return Expression("CASE", "CASE_EXPR", "case_checks", []any{Object("when_expr", when, "then_expr", then)}, "else_expr", otherwise)
}

// Select returns SELECT list FROM from.
func Select(list []any, from *Node) *Node {
	return Object("type", "SELECT_NODE", "modifiers", []any{}, "cte_map", Object("map", []any{}), "select_list", list,
		"from_table", from, "where_clause", nil, "group_expressions", []any{}, "group_sets", []any{},
		"aggregate_handling", "STANDARD_HANDLING", "having", nil, "sample", nil, "qualify", nil)
}

// Statement returns a statement without parameters.
func Statement(query *Node) *Node { return Object("node", query, "named_param_map", []any{}) }

// EmptyFrom returns the FROM of a SELECT without one.
func EmptyFrom() *Node { return Object("type", "EMPTY", "alias", "", "sample", nil) }

// Table returns a reference to a table.
func Table(catalog, schema, name string) *Node {
	return Object("type", "BASE_TABLE", "alias", "", "sample", nil, "schema_name", schema, "table_name", name,
		"column_name_alias", []any{}, "catalog_name", catalog, "at_clause", nil)
}

// Document wraps a statement as the parser does.
func Document(stmt *Node) *Node { return Object("error", false, "statements", []any{stmt}) }
