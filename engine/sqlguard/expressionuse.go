package sqlguard

import (
	"github.com/lakewarden/lakewarden/engine/sqlguard/functions"
	"github.com/lakewarden/lakewarden/engine/sqlguard/refusal"
	"github.com/lakewarden/lakewarden/engine/sqltree"
)

// Properties of a caller's expression, read off a statement that selects nothing else.

// IsCondition reports whether the only result column is certainly BOOLEAN or NULL,
// independent of the types of columns. False is inconclusive.
func (q *Query) IsCondition() bool {
	columns := q.results()
	return len(columns) == 1 && isCondition(columns[0])
}

// likes holds the operators of LIKE, ILIKE and GLOB, whose result is BOOLEAN.
var likes = sqltree.Set("~~", "!~~", "~~*", "!~~*", "~~~")

func isCondition(v any) bool {
	n, _ := v.(*sqltree.Node)
	switch n.Str("class") {
	case "COMPARISON", "BETWEEN":
		return true
	case "CONSTANT":
		return n.Child("value").Flag("is_null")
	case "CAST":
		return n.Child("cast_type").Is("id", "BOOLEAN")
	case "SUBQUERY":
		return !n.Is("subquery_type", "SCALAR")
	case "FUNCTION":
		return n.Flag("is_operator") && likes[n.Str("function_name")]
	case "CONJUNCTION":
		return allConditions(n)
	case "OPERATOR":
		switch n.Str("type") {
		case "OPERATOR_NOT":
			return allConditions(n)
		case "OPERATOR_IS_NULL", "OPERATOR_IS_NOT_NULL", "COMPARE_IN", "COMPARE_NOT_IN":
			return true
		}
	}
	return false
}

func allConditions(n *sqltree.Node) bool {
	for _, c := range n.List("children") {
		if !isCondition(c) {
			return false
		}
	}
	return true
}

// RowByRow returns nil if the result columns have one value for each row. Otherwise it
// returns an *Error at the first aggregate, window function or unnest. Subqueries are
// ignored.
func (q *Query) RowByRow() error {
	call, why := firstManyRowCall(q.results())
	if call == nil {
		return nil
	}
	name := call.Function()
	err := refusal.New(refusal.CodeFunction, name, "%s %s", name, why).At(call)
	err.Locate(q.text)
	return err
}

// firstManyRowCall returns the first call that does not return one value for each row.
func firstManyRowCall(v any) (call *sqltree.Node, why string) {
	sqltree.Walk(v, func(n *sqltree.Node) sqltree.Step {
		switch {
		case n.Is("class", "SUBQUERY"):
			return sqltree.Over
		case functions.IsWindow(n):
			call, why = n, "is a window function, which needs other rows: it can stand in a subquery only"
		case functions.IsAggregate(n):
			call, why = n, "is an aggregate, which needs many rows: it can stand in a subquery only"
		case n.Is("class", "FUNCTION") && n.Is("function_name", "unnest"):
			call, why = n, "makes several rows of one: it can stand in a subquery only"
		default:
			return sqltree.Into
		}
		return sqltree.Stop
	})
	return call, why
}

// results returns the expressions of the select list.
func (q *Query) results() []any {
	return q.query().List("select_list")
}
