package sqlguard

// kind says what a field of the tree may hold.
type kind uint8

const (
	kString kind = iota
	kBool
	kNumber
	kIdents  // list of identifiers
	kNothing // a field that must have its default
	kSets    // list of lists of numbers
	kScalar  // the payload of a constant

	// Objects; families says which fields each may have.
	kStatement
	kQuery
	kModifier
	kOrder
	kCTEs
	kCTE
	kCTEBody
	kExpr
	kTable
	kSample
	kAt
	kCase
	kReplace
	kRename
	kQualified
	kPivotColumn
	kPivotEntry
	kType
	kTypeInfo
	kStructField
	kValue
	kNamedParam
)

// Lists of an object kind carry this bit; lists of lists of expressions are a
// kind of their own.
const kListOf kind = 1 << 6

const (
	kExprs        = kListOf | kExpr
	kModifiers    = kListOf | kModifier
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
	kQueries      = kListOf | kQuery
	kExprRows     = kListOf | kListOf>>1 | kExpr
)

// Enumerations carry the highest bit.
const (
	kExprType kind = 1<<7 + iota
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

// shape maps the fields of one node to what they may hold. A field that is not
// listed is refused; one that is absent has its default.
type shape map[string]kind

// family is a kind of object: its shapes, by the value of the field that tells
// them apart.
type family struct {
	tag    string
	shapes map[string]shape
}

func only(s shape) family { return family{shapes: map[string]shape{"": s}} }

// with merges the fields that all members of a family share.
func with(common shape, shapes map[string]shape) map[string]shape {
	for _, s := range shapes {
		for k, v := range common {
			s[k] = v
		}
	}
	return shapes
}

var families = map[kind]family{
	kStatement:   only(shape{"node": kQuery, "named_param_map": kNamedParams}),
	kNamedParam:  only(shape{"key": kString, "value": kNumber}),
	kCTEs:        only(shape{"map": kCTEList}),
	kOrder:       {tag: "type", shapes: orderShapes()},
	kSample:      only(shape{"sample_size": kValue, "is_percentage": kBool, "method": kSampleMethod, "seed": kNumber}),
	kAt:          only(shape{"unit": kAtUnit, "expr": kExpr}),
	kCase:        only(shape{"when_expr": kExpr, "then_expr": kExpr}),
	kReplace:     only(shape{"key": kString, "value": kExpr}),
	kRename:      only(shape{"key": kQualified, "value": kString}),
	kQualified:   only(shape{"catalog": kString, "schema": kString, "table": kString, "column": kString}),
	kStructField: only(shape{"first": kString, "second": kType}),
	kType:        only(shape{"id": kString, "type_info": kTypeInfo}),
	kValue:       only(shape{"type": kType, "is_null": kBool, "value": kScalar}),
	kPivotEntry:  only(shape{"values": kValues, "star_expr": kExpr, "alias": kString}),
	kPivotColumn: only(shape{
		"pivot_expressions": kExprs, "unpivot_names": kIdents, "entries": kPivotEntries, "pivot_enum": kNothing,
	}),
	kTypeInfo: {tag: "type", shapes: with(shape{"type": kString, "alias": kNothing, "extension_info": kNothing}, map[string]shape{
		"DECIMAL_TYPE_INFO": {"width": kNumber, "scale": kNumber},
		"LIST_TYPE_INFO":    {"child_type": kType},
		"ARRAY_TYPE_INFO":   {"child_type": kType, "size": kNumber},
		"STRUCT_TYPE_INFO":  {"child_types": kStructFields},
		"STRING_TYPE_INFO":  {"collation": kNothing},
		"UNBOUND_TYPE_INFO": {"name": kString, "catalog": kNothing, "schema": kNothing, "user_type_modifiers": kNothing},
	})},
	kModifier: {tag: "type", shapes: with(shape{"type": kString}, map[string]shape{
		"ORDER_MODIFIER":         {"orders": kOrders},
		"LIMIT_MODIFIER":         {"limit": kExpr, "offset": kExpr},
		"LIMIT_PERCENT_MODIFIER": {"limit": kExpr, "offset": kExpr},
		"DISTINCT_MODIFIER":      {"distinct_on_targets": kExprs},
	})},
	kQuery: {tag: "type", shapes: with(shape{"type": kString, "modifiers": kModifiers, "cte_map": kCTEs}, map[string]shape{
		"SELECT_NODE": {
			"select_list": kExprs, "from_table": kTable, "where_clause": kExpr, "group_expressions": kExprs,
			"group_sets": kSets, "aggregate_handling": kAggregates, "having": kExpr, "sample": kSample, "qualify": kExpr,
		},
		"SET_OPERATION_NODE": {"setop_type": kSetOp, "left": kQuery, "right": kQuery, "children": kQueries, "setop_all": kBool},
		"RECURSIVE_CTE_NODE": {
			"cte_name": kString, "union_all": kBool, "left": kQuery, "right": kQuery,
			"aliases": kIdents, "key_targets": kExprs,
		},
	})},
	kCTE: only(shape{"key": kString, "value": kCTEBody}),
	kCTEBody: only(shape{
		"aliases": kIdents, "query": kStatement, "materialized": kMaterialized, "key_targets": kExprs,
	}),
	kTable: {tag: "type", shapes: with(shape{
		"type": kString, "alias": kString, "sample": kSample, "query_location": kNumber,
	}, map[string]shape{
		"BASE_TABLE": {
			"schema_name": kString, "table_name": kString, "catalog_name": kString,
			"column_name_alias": kIdents, "at_clause": kAt,
		},
		"JOIN": {
			"left": kTable, "right": kTable, "condition": kExpr, "join_type": kJoinType, "ref_type": kRefType,
			"using_columns": kIdents, "delim_flipped": kNothing, "duplicate_eliminated_columns": kNothing, "is_implicit": kBool,
		},
		"SUBQUERY":        {"subquery": kStatement, "column_name_alias": kIdents},
		"TABLE_FUNCTION":  {"function": kExpr, "column_name_alias": kIdents, "with_ordinality": kOrdinality},
		"EMPTY":           {},
		"EXPRESSION_LIST": {"expected_names": kNothing, "expected_types": kNothing, "values": kExprRows},
		"PIVOT": {
			"source": kTable, "aggregates": kExprs, "unpivot_names": kIdents, "pivots": kPivotColumns,
			"groups": kIdents, "column_name_alias": kIdents, "include_nulls": kBool,
		},
		"SHOW_REF": {
			"table_name": kString, "query": kQuery, "show_type": kShow, "catalog_name": kString, "schema_name": kString,
		},
	})},
	kExpr: {tag: "class", shapes: with(shape{
		"class": kString, "type": kExprType, "alias": kString, "query_location": kNumber,
	}, map[string]shape{
		"BETWEEN":     {"input": kExpr, "lower": kExpr, "upper": kExpr},
		"CASE":        {"case_checks": kCases, "else_expr": kExpr},
		"CAST":        {"child": kExpr, "cast_type": kType, "try_cast": kBool},
		"COLLATE":     {"child": kExpr, "collation": kString},
		"COLUMN_REF":  {"column_names": kIdents},
		"COMPARISON":  {"left": kExpr, "right": kExpr},
		"CONJUNCTION": {"children": kExprs},
		"CONSTANT":    {"value": kValue},
		"FUNCTION": {
			"function_name": kString, "schema": kString, "catalog": kString, "children": kExprs, "filter": kExpr,
			"order_bys": kModifier, "distinct": kBool, "is_operator": kBool, "export_state": kNothing,
		},
		"LAMBDA":               {"lhs": kExpr, "expr": kExpr, "syntax_type": kLambda},
		"OPERATOR":             {"children": kExprs},
		"PARAMETER":            {"identifier": kString},
		"POSITIONAL_REFERENCE": {"index": kNumber},
		"STAR": {
			"relation_name": kString, "exclude_list": kIdents, "replace_list": kReplaces, "columns": kBool,
			"expr": kExpr, "unpacked": kBool, "qualified_exclude_list": kQualifieds, "rename_list": kRenames,
		},
		"SUBQUERY": {"subquery_type": kSubqueryType, "subquery": kStatement, "child": kExpr, "comparison_type": kComparison},
		"WINDOW": {
			"function_name": kString, "schema": kString, "catalog": kString, "children": kExprs, "partitions": kExprs,
			"orders": kOrders, "start": kWindowBound, "end": kWindowBound, "start_expr": kExpr, "end_expr": kExpr,
			"offset_expr": kExpr, "default_expr": kExpr, "ignore_nulls": kBool, "filter_expr": kExpr,
			"exclude_clause": kExclude, "distinct": kBool, "arg_orders": kOrders,
		},
	})},
}

func orderShapes() map[string]shape {
	out := map[string]shape{}
	for _, t := range []string{"ORDER_DEFAULT", "ASCENDING", "DESCENDING"} {
		out[t] = shape{"type": kString, "null_order": kNullOrder, "expression": kExpr}
	}
	return out
}

func set(names ...string) map[string]bool {
	out := make(map[string]bool, len(names))
	for _, n := range names {
		out[n] = true
	}
	return out
}

var enums = map[kind]map[string]bool{
	kExprType: set("COMPARE_EQUAL", "COMPARE_NOTEQUAL", "COMPARE_LESSTHAN", "COMPARE_GREATERTHAN", "COMPARE_LESSTHANOREQUALTO",
		"COMPARE_GREATERTHANOREQUALTO", "COMPARE_DISTINCT_FROM", "COMPARE_NOT_DISTINCT_FROM", "COMPARE_BETWEEN", "COMPARE_IN",
		"COMPARE_NOT_IN", "CONJUNCTION_AND", "CONJUNCTION_OR", "OPERATOR_CAST", "OPERATOR_NOT", "OPERATOR_IS_NULL",
		"OPERATOR_IS_NOT_NULL", "OPERATOR_COALESCE", "OPERATOR_NULLIF", "OPERATOR_TRY", "OPERATOR_UNPACK", "ARRAY_EXTRACT",
		"ARRAY_SLICE", "STRUCT_EXTRACT", "ARRAY_CONSTRUCTOR", "GROUPING_FUNCTION", "CASE_EXPR", "COLLATE", "COLUMN_REF",
		"VALUE_CONSTANT", "VALUE_PARAMETER", "FUNCTION", "LAMBDA", "POSITIONAL_REFERENCE", "STAR", "SUBQUERY",
		"WINDOW_AGGREGATE", "WINDOW_RANK", "WINDOW_RANK_DENSE", "WINDOW_NTILE", "WINDOW_PERCENT_RANK", "WINDOW_CUME_DIST",
		"WINDOW_ROW_NUMBER", "WINDOW_FIRST_VALUE", "WINDOW_LAST_VALUE", "WINDOW_LEAD", "WINDOW_LAG", "WINDOW_NTH_VALUE", "WINDOW_FILL"),
	kJoinType:     set("INNER", "LEFT", "RIGHT", "FULL", "SEMI", "ANTI"),
	kRefType:      set("REGULAR", "CROSS", "NATURAL", "POSITIONAL", "ASOF"),
	kSetOp:        set("UNION", "UNION_BY_NAME", "EXCEPT", "INTERSECT"),
	kAggregates:   set("STANDARD_HANDLING", "FORCE_AGGREGATES"),
	kMaterialized: set("CTE_MATERIALIZE_DEFAULT", "CTE_MATERIALIZE_ALWAYS", "CTE_MATERIALIZE_NEVER"),
	kNullOrder:    set("ORDER_DEFAULT", "NULLS FIRST", "NULLS LAST"),
	kSubqueryType: set("SCALAR", "EXISTS", "NOT_EXISTS", "ANY"),
	kComparison: set("INVALID", "COMPARE_EQUAL", "COMPARE_NOTEQUAL", "COMPARE_LESSTHAN", "COMPARE_GREATERTHAN",
		"COMPARE_LESSTHANOREQUALTO", "COMPARE_GREATERTHANOREQUALTO"),
	kWindowBound: set("UNBOUNDED_PRECEDING", "UNBOUNDED_FOLLOWING", "CURRENT_ROW_RANGE", "CURRENT_ROW_ROWS", "CURRENT_ROW_GROUPS",
		"EXPR_PRECEDING_ROWS", "EXPR_FOLLOWING_ROWS", "EXPR_PRECEDING_RANGE", "EXPR_FOLLOWING_RANGE",
		"EXPR_PRECEDING_GROUPS", "EXPR_FOLLOWING_GROUPS"),
	kExclude:      set("NO_OTHER", "CURRENT_ROW", "GROUP", "TIES"),
	kShow:         set("DESCRIBE", "SUMMARY", "SHOW_UNQUALIFIED", "SHOW_FROM"),
	kSampleMethod: set("System", "Bernoulli", "Reservoir"),
	kAtUnit:       set("VERSION", "TIMESTAMP"),
	kOrdinality:   set("WITHOUT_ORDINALITY", "WITH_ORDINALITY"),
	kLambda:       set("SINGLE_ARROW", "LAMBDA_KEYWORD", "SINGLE_ARROW_STORAGE"),
}
