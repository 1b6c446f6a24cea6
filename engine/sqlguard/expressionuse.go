package sqlguard

import (
	"strings"

	"github.com/lakewarden/lakewarden/engine/sqlguard/functions"
	"github.com/lakewarden/lakewarden/engine/sqlguard/refusal"
	"github.com/lakewarden/lakewarden/engine/sqltree"
)

// What a caller's expression is good for, read off a statement that selects it and
// nothing else.

// IsCondition reports that the only result column is BOOLEAN or NULL whatever the
// types of columns are. Where it is not, the engine has to be asked.
func (q *Query) IsCondition() bool {
	columns := q.results()
	return len(columns) == 1 && isCondition(columns[0])
}

// likes are the operators behind LIKE, ILIKE and GLOB, which give BOOLEAN only.
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

// RowByRow returns nil when the result columns give one value for each row. Else it
// is an *Error at what does not: an aggregate, a window function or unnest. What
// subqueries hold does not count.
func (q *Query) RowByRow() error {
	call, why := manyRowCall(q.results())
	if call == nil {
		return nil
	}
	name := strings.ToLower(call.Str("function_name"))
	err := refusal.New(refusal.CodeFunction, name, "%s %s", name, why).At(call)
	err.Locate(q.text)
	return err
}

// manyRowCall finds a call that does not give one value for each row.
func manyRowCall(v any) (call *sqltree.Node, why string) {
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

// results are the expressions of the select list.
func (q *Query) results() []any {
	return q.query().List("select_list")
}
