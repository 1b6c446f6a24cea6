package sqlguard

import "fmt"

// What a caller's expression is good for, read off a statement that selects it and
// nothing else.

// IsCondition reports that the only result column is BOOLEAN or NULL whatever the
// types of columns are. Where it is not, the engine has to be asked.
func (q *Query) IsCondition() bool {
	columns := q.results()
	return len(columns) == 1 && isCondition(columns[0])
}

// likes are the operators behind LIKE, ILIKE and GLOB, which give BOOLEAN only.
var likes = set("~~", "!~~", "~~*", "!~~*", "~~~")

func isCondition(v any) bool {
	n, _ := v.(*node)
	switch n.str("class") {
	case "COMPARISON", "BETWEEN":
		return true
	case "CONSTANT":
		return n.child("value").flag("is_null")
	case "CAST":
		return n.child("cast_type").is("id", "BOOLEAN")
	case "SUBQUERY":
		return !n.is("subquery_type", "SCALAR")
	case "FUNCTION":
		return n.flag("is_operator") && likes[n.str("function_name")]
	case "CONJUNCTION":
		return allConditions(n)
	case "OPERATOR":
		switch n.str("type") {
		case "OPERATOR_NOT":
			return allConditions(n)
		case "OPERATOR_IS_NULL", "OPERATOR_IS_NOT_NULL", "COMPARE_IN", "COMPARE_NOT_IN":
			return true
		}
	}
	return false
}

func allConditions(n *node) bool {
	for _, c := range n.list("children") {
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
	err := refuse(CodeFunction, lower(call.str("function_name")), "").at(call)
	err.Message = fmt.Sprintf("%s %s", err.Name, why)
	p := place(q.text, err.pos-1)
	err.Line, err.Column = p.Line, p.Column
	return err
}

// manyRowCall finds a call that does not give one value for each row.
func manyRowCall(v any) (call *node, why string) {
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			if call, why = manyRowCall(x); call != nil {
				return call, why
			}
		}
	case *node:
		switch {
		case v == nil || v.is("class", "SUBQUERY"):
			return nil, ""
		case isWindow(v):
			return v, "is a window function, which needs other rows: it can stand in a subquery only"
		case isAggregate(v):
			return v, "is an aggregate, which needs many rows: it can stand in a subquery only"
		case v.is("class", "FUNCTION") && v.is("function_name", "unnest"):
			return v, "makes several rows of one: it can stand in a subquery only"
		}
		return manyRowCall(v.vals)
	}
	return nil, ""
}

// results are the expressions of the select list.
func (q *Query) results() []any {
	return q.root.list("statements")[0].(*node).child("node").list("select_list")
}
