package grammar

import "github.com/lakewarden/lakewarden/engine/sqltree"

// Kind is the kind of values that a field of the tree may have.
type Kind uint8

// The kinds.
const (
	kString Kind = iota
	kBool
	kNumber
	kIdents  // list of identifiers
	kNothing // a field that must have its default
	kSets    // list of lists of numbers
	kScalar  // the payload of a constant

	// Objects; families lists the fields of each.

	Statement
	Query
	kModifier
	kOrder
	kCTEs
	kCTE
	kCTEBody
	Expr
	Table
	Sample
	kAt
	kCase
	kReplace
	kRename
	kQualified
	kPivotColumn
	kPivotEntry
	Type
	kTypeInfo
	kStructField
	kValue
	kNamedParam
)

// kListOf marks a list of an object kind.
const kListOf Kind = 1 << 6

// The lists. A list of lists of expressions is a kind of its own.
const (
	Exprs         = kListOf | Expr
	Modifiers     = kListOf | kModifier
	kOrders       = kListOf | kOrder
	kCTEList      = kListOf | kCTE
	kCases        = kListOf | kCase
	kReplaces     = kListOf | kReplace
	kRenames      = kListOf | kRename
	kQualifieds   = kListOf | kQualified
	kPivotColumns = kListOf | kPivotColumn
	kPivotEntries = kListOf | kPivotEntry
	kStructFields = kListOf | kStructField
	kValues       = kListOf | kValue
	kNamedParams  = kListOf | kNamedParam
	kQueries      = kListOf | Query
	kExprRows     = kListOf | kListOf>>1 | Expr
)

// Enumerations carry the highest bit.
const (
	kExprType Kind = 1<<7 + iota
	kJoinType
	kRefType
	kSetOp
	kAggregates
	kMaterialized
	kNullOrder
	kSubqueryType
	kComparison
	kWindowBound
	kExclude
	kShow
	kSampleMethod
	kAtUnit
	kOrdinality
	kLambda
)

// shape maps the fields of a node to their kinds. A field that is not listed is refused; an
// absent field has its default.
type shape map[string]Kind

// family holds the shapes of a kind of object by the value of the tag field.
type family struct {
	tag    string
	shapes map[string]shape
}

func only(s shape) family { return family{shapes: map[string]shape{"": s}} }

// with adds the fields that all members of a family have.
func with(common shape, shapes map[string]shape) map[string]shape {
	for _, s := range shapes {
		for k, v := range common {
			s[k] = v
		}
	}
	return shapes
}

var families = map[Kind]family{
	Statement:    only(shape{"node": Query, "named_param_map": kNamedParams}),
	kNamedParam:  only(shape{"key": kString, "value": kNumber}),
	kCTEs:        only(shape{"map": kCTEList}),
	kOrder:       {tag: "type", shapes: orderShapes()},
	Sample:       only(shape{"sample_size": kValue, "is_percentage": kBool, "method": kSampleMethod, "seed": kNumber}),
	kAt:          only(shape{"unit": kAtUnit, "expr": Expr}),
	kCase:        only(shape{"when_expr": Expr, "then_expr": Expr}),
	kReplace:     only(shape{"key": kString, "value": Expr}),
	kRename:      only(shape{"key": kQualified, "value": kString}),
	kQualified:   only(shape{"catalog": kString, "schema": kString, "table": kString, "column": kString}),
	kStructField: only(shape{"first": kString, "second": Type}),
	Type:         only(shape{"id": kString, "type_info": kTypeInfo}),
	kValue:       only(shape{"type": Type, "is_null": kBool, "value": kScalar}),
	kPivotEntry:  only(shape{"values": kValues, "star_expr": Expr, "alias": kString}),
	kPivotColumn: only(shape{
		"pivot_expressions": Exprs, "unpivot_names": kIdents, "entries": kPivotEntries, "pivot_enum": kNothing,
	}),
	kTypeInfo: {tag: "type", shapes: with(shape{"type": kString, "alias": kNothing, "extension_info": kNothing}, map[string]shape{
		"DECIMAL_TYPE_INFO": {"width": kNumber, "scale": kNumber},
		"LIST_TYPE_INFO":    {"child_type": Type},
		"ARRAY_TYPE_INFO":   {"child_type": Type, "size": kNumber},
		"STRUCT_TYPE_INFO":  {"child_types": kStructFields},
		"STRING_TYPE_INFO":  {"collation": kNothing},
		"UNBOUND_TYPE_INFO": {"name": kString, "catalog": kNothing, "schema": kNothing, "user_type_modifiers": kNothing},
	})},
	kModifier: {tag: "type", shapes: with(shape{"type": kString}, map[string]shape{
		"ORDER_MODIFIER":         {"orders": kOrders},
		"LIMIT_MODIFIER":         {"limit": Expr, "offset": Expr},
		"LIMIT_PERCENT_MODIFIER": {"limit": Expr, "offset": Expr},
		"DISTINCT_MODIFIER":      {"distinct_on_targets": Exprs},
	})},
	Query: {tag: "type", shapes: with(shape{"type": kString, "modifiers": Modifiers, "cte_map": kCTEs}, map[string]shape{
		"SELECT_NODE": {
			"select_list": Exprs, "from_table": Table, "where_clause": Expr, "group_expressions": Exprs,
			"group_sets": kSets, "aggregate_handling": kAggregates, "having": Expr, "sample": Sample, "qualify": Expr,
		},
		"SET_OPERATION_NODE": {"setop_type": kSetOp, "left": Query, "right": Query, "children": kQueries, "setop_all": kBool},
		"RECURSIVE_CTE_NODE": {
			"cte_name": kString, "union_all": kBool, "left": Query, "right": Query,
			"aliases": kIdents, "key_targets": Exprs,
		},
	})},
	kCTE: only(shape{"key": kString, "value": kCTEBody}),
	kCTEBody: only(shape{
		"aliases": kIdents, "query": Statement, "materialized": kMaterialized, "key_targets": Exprs,
	}),
	Table: {tag: "type", shapes: with(shape{
		"type": kString, "alias": kString, "sample": Sample, "query_location": kNumber,
	}, map[string]shape{
		"BASE_TABLE": {
			"schema_name": kString, "table_name": kString, "catalog_name": kString,
			"column_name_alias": kIdents, "at_clause": kAt,
		},
		"JOIN": {
			"left": Table, "right": Table, "condition": Expr, "join_type": kJoinType, "ref_type": kRefType,
			"using_columns": kIdents, "delim_flipped": kNothing, "duplicate_eliminated_columns": kNothing, "is_implicit": kBool,
		},
		"SUBQUERY":        {"subquery": Statement, "column_name_alias": kIdents},
		"TABLE_FUNCTION":  {"function": Expr, "column_name_alias": kIdents, "with_ordinality": kOrdinality},
		"EMPTY":           {},
		"EXPRESSION_LIST": {"expected_names": kNothing, "expected_types": kNothing, "values": kExprRows},
		"PIVOT": {
			"source": Table, "aggregates": Exprs, "unpivot_names": kIdents, "pivots": kPivotColumns,
			"groups": kIdents, "column_name_alias": kIdents, "include_nulls": kBool,
		},
		"SHOW_REF": {
			"table_name": kString, "query": Query, "show_type": kShow, "catalog_name": kString, "schema_name": kString,
		},
	})},
	Expr: {tag: "class", shapes: with(shape{
		"class": kString, "type": kExprType, "alias": kString, "query_location": kNumber,
	}, map[string]shape{
		"BETWEEN":     {"input": Expr, "lower": Expr, "upper": Expr},
		"CASE":        {"case_checks": kCases, "else_expr": Expr},
		"CAST":        {"child": Expr, "cast_type": Type, "try_cast": kBool},
		"COLLATE":     {"child": Expr, "collation": kString},
		"COLUMN_REF":  {"column_names": kIdents},
		"COMPARISON":  {"left": Expr, "right": Expr},
		"CONJUNCTION": {"children": Exprs},
		"CONSTANT":    {"value": kValue},
		"FUNCTION": {
			"function_name": kString, "schema": kString, "catalog": kString, "children": Exprs, "filter": Expr,
			"order_bys": kModifier, "distinct": kBool, "is_operator": kBool, "export_state": kNothing,
		},
		"LAMBDA":               {"lhs": Expr, "expr": Expr, "syntax_type": kLambda},
		"OPERATOR":             {"children": Exprs},
		"PARAMETER":            {"identifier": kString},
		"POSITIONAL_REFERENCE": {"index": kNumber},
		"STAR": {
			"relation_name": kString, "exclude_list": kIdents, "replace_list": kReplaces, "columns": kBool,
			"expr": Expr, "unpacked": kBool, "qualified_exclude_list": kQualifieds, "rename_list": kRenames,
		},
		"SUBQUERY": {"subquery_type": kSubqueryType, "subquery": Statement, "child": Expr, "comparison_type": kComparison},
		"WINDOW": {
			"function_name": kString, "schema": kString, "catalog": kString, "children": Exprs, "partitions": Exprs,
			"orders": kOrders, "start": kWindowBound, "end": kWindowBound, "start_expr": Expr, "end_expr": Expr,
			"offset_expr": Expr, "default_expr": Expr, "ignore_nulls": kBool, "filter_expr": Expr,
			"exclude_clause": kExclude, "distinct": kBool, "arg_orders": kOrders,
		},
	})},
}

func orderShapes() map[string]shape {
	out := map[string]shape{}
	for _, t := range []string{"ORDER_DEFAULT", "ASCENDING", "DESCENDING"} {
		out[t] = shape{"type": kString, "null_order": kNullOrder, "expression": Expr}
	}
	return out
}

var enums = map[Kind]map[string]bool{
	kExprType: sqltree.Set("COMPARE_EQUAL", "COMPARE_NOTEQUAL", "COMPARE_LESSTHAN", "COMPARE_GREATERTHAN", "COMPARE_LESSTHANOREQUALTO",
		"COMPARE_GREATERTHANOREQUALTO", "COMPARE_DISTINCT_FROM", "COMPARE_NOT_DISTINCT_FROM", "COMPARE_BETWEEN", "COMPARE_IN",
		"COMPARE_NOT_IN", "CONJUNCTION_AND", "CONJUNCTION_OR", "OPERATOR_CAST", "OPERATOR_NOT", "OPERATOR_IS_NULL",
		"OPERATOR_IS_NOT_NULL", "OPERATOR_COALESCE", "OPERATOR_NULLIF", "OPERATOR_TRY", "OPERATOR_UNPACK", "ARRAY_EXTRACT",
		"ARRAY_SLICE", "STRUCT_EXTRACT", "ARRAY_CONSTRUCTOR", "GROUPING_FUNCTION", "CASE_EXPR", "COLLATE", "COLUMN_REF",
		"VALUE_CONSTANT", "VALUE_PARAMETER", "FUNCTION", "LAMBDA", "POSITIONAL_REFERENCE", "STAR", "SUBQUERY",
		"WINDOW_AGGREGATE", "WINDOW_RANK", "WINDOW_RANK_DENSE", "WINDOW_NTILE", "WINDOW_PERCENT_RANK", "WINDOW_CUME_DIST",
		"WINDOW_ROW_NUMBER", "WINDOW_FIRST_VALUE", "WINDOW_LAST_VALUE", "WINDOW_LEAD", "WINDOW_LAG", "WINDOW_NTH_VALUE", "WINDOW_FILL"),
	kJoinType:     sqltree.Set("INNER", "LEFT", "RIGHT", "FULL", "SEMI", "ANTI"),
	kRefType:      sqltree.Set("REGULAR", "CROSS", "NATURAL", "POSITIONAL", "ASOF"),
	kSetOp:        sqltree.Set("UNION", "UNION_BY_NAME", "EXCEPT", "INTERSECT"),
	kAggregates:   sqltree.Set("STANDARD_HANDLING", "FORCE_AGGREGATES"),
	kMaterialized: sqltree.Set("CTE_MATERIALIZE_DEFAULT", "CTE_MATERIALIZE_ALWAYS", "CTE_MATERIALIZE_NEVER"),
	kNullOrder:    sqltree.Set("ORDER_DEFAULT", "NULLS FIRST", "NULLS LAST"),
	kSubqueryType: sqltree.Set("SCALAR", "EXISTS", "NOT_EXISTS", "ANY"),
	kComparison: sqltree.Set("INVALID", "COMPARE_EQUAL", "COMPARE_NOTEQUAL", "COMPARE_LESSTHAN", "COMPARE_GREATERTHAN",
		"COMPARE_LESSTHANOREQUALTO", "COMPARE_GREATERTHANOREQUALTO"),
	kWindowBound: sqltree.Set("UNBOUNDED_PRECEDING", "UNBOUNDED_FOLLOWING", "CURRENT_ROW_RANGE", "CURRENT_ROW_ROWS", "CURRENT_ROW_GROUPS",
		"EXPR_PRECEDING_ROWS", "EXPR_FOLLOWING_ROWS", "EXPR_PRECEDING_RANGE", "EXPR_FOLLOWING_RANGE",
		"EXPR_PRECEDING_GROUPS", "EXPR_FOLLOWING_GROUPS"),
	kExclude:      sqltree.Set("NO_OTHER", "CURRENT_ROW", "GROUP", "TIES"),
	kShow:         sqltree.Set("DESCRIBE", "SUMMARY", "SHOW_UNQUALIFIED", "SHOW_FROM"),
	kSampleMethod: sqltree.Set("System", "Bernoulli", "Reservoir"),
	kAtUnit:       sqltree.Set("VERSION", "TIMESTAMP"),
	kOrdinality:   sqltree.Set("WITHOUT_ORDINALITY", "WITH_ORDINALITY"),
	kLambda:       sqltree.Set("SINGLE_ARROW", "LAMBDA_KEYWORD", "SINGLE_ARROW_STORAGE"),
}
