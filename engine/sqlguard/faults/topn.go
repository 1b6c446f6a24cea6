package faults

import (
	"github.com/lakewarden/lakewarden/engine/sqltree"
)

// The engine answers ORDER BY with LIMIT by an operator that tells the scan of a table which
// values of the first key can no longer be among the rows. It does so through casts between
// integers and through set operations, whose columns have implicit casts, and compares the bytes
// of values of different types. It also does so below FULL and RIGHT joins, whose other rows then
// lose their partners and come first as NULL.
//
// A second form of the first key keeps the operator and hides the key from the scan. Where
// that is impossible, a limit that is no constant makes the engine sort all rows.

// ties are the parts of a statement that make a top-N doubtful.
type ties struct {
	// casts reports a cast to an integer in a result, a group or a key; sets a set operation;
	// outer a FULL or RIGHT join.
	casts, sets, outer bool
}

// integers are the types through whose casts the engine passes filters.
var integers = sqltree.Set("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")

func tiesOf(stmt *sqltree.Node) ties {
	var t ties
	sqltree.Walk(stmt, func(n *sqltree.Node) sqltree.Step {
		switch {
		case n.Is("type", "SET_OPERATION_NODE"), n.Is("type", "RECURSIVE_CTE_NODE"):
			t.sets = true
		case n.Is("type", "JOIN"):
			t.outer = t.outer || n.Is("join_type", "RIGHT") || n.Is("join_type", "FULL") || n.Is("join_type", "OUTER")
		case n.Is("type", "SELECT_NODE"):
			t.casts = t.casts || castsInteger(n.Get("select_list")) || castsInteger(n.Get("group_expressions"))
		case n.Is("type", "ORDER_MODIFIER"):
			t.casts = t.casts || castsInteger(n.Get("orders"))
		}
		return sqltree.Into
	})
	return t
}

func castsInteger(v any) bool {
	return sqltree.Walk(v, func(n *sqltree.Node) sqltree.Step {
		if n.Is("class", "CAST") && integers[n.Child("cast_type").Str("id")] {
			return sqltree.Stop
		}
		return sqltree.Into
	})
}

// topN hides the first key of a query with ORDER BY and LIMIT, if the engine may misuse it.
func (m *mender) topN(query *sqltree.Node) {
	var orders, limit *sqltree.Node
	for mod := range query.Each("modifiers") {
		switch mod.Str("type") {
		case "ORDER_MODIFIER":
			orders = mod
		case "LIMIT_MODIFIER":
			limit = mod
		}
	}
	if orders == nil || limit == nil || limit.Child("limit") == nil || len(orders.List("orders")) == 0 {
		return
	}
	first := orders.List("orders")[0].(*sqltree.Node)
	if !m.doubtful(first) {
		return
	}
	switch key := keyOf(query, first.Child("expression")); {
	case key == nil, !repeatable(key):
		limit.Set("limit", inconstant(limit.Child("limit")))
	case !computed(key):
		orders.Set("orders", append([]any{nullsOf(first, key)}, orders.List("orders")...))
	}
}

func (m *mender) doubtful(order *sqltree.Node) bool {
	return m.ties.casts || m.ties.sets || m.ties.outer && order.Is("null_order", "NULLS FIRST")
}

// keyOf returns the expression of the first key, or nil if only the engine knows it, or it
// cannot be a key in another form.
func keyOf(query, e *sqltree.Node) *sqltree.Node {
	if !query.Is("type", "SELECT_NODE") {
		return nil
	}
	for mod := range query.Each("modifiers") {
		if mod.Is("type", "DISTINCT_MODIFIER") {
			return nil // all keys must be results
		}
	}
	switch e.Str("class") {
	case "STAR", "POSITIONAL_REFERENCE", "CONSTANT", "PARAMETER", "COLLATE":
		return resultOf(query, e)
	case "COLUMN_REF":
		names := e.Strings("column_names")
		for r := range query.Each("select_list") {
			if len(names) == 1 && equalFold(r.Str("alias"), names[0]) {
				return r
			}
		}
	}
	return e
}

// resultOf returns the result column that a number in ORDER BY means.
func resultOf(query, e *sqltree.Node) *sqltree.Node {
	lit, ok := sqltree.LiteralOf(e)
	list := query.List("select_list")
	if !ok || lit.Family != sqltree.ExactNumber {
		return nil
	}
	for i, r := range list {
		if sqltree.Contains(r, "STAR") {
			return nil
		}
		if lit.Text == string(sqltree.NumberOf(i+1)) {
			return r.(*sqltree.Node)
		}
	}
	return nil
}

// repeatable reports whether e can be written twice.
func repeatable(e *sqltree.Node) bool {
	return e.Is("class", "WINDOW") || !sqltree.Contains(e, "STAR") && !sqltree.Contains(e, "SUBQUERY") && !sqltree.Contains(e, "WINDOW")
}

// computed reports whether the values of e are those of an aggregate or a window, which come
// from no scan.
func computed(e *sqltree.Node) bool {
	return e.Is("class", "WINDOW") || e.Is("class", "FUNCTION") && aggregates[e.Function()]
}

var aggregates = sqltree.Set("count", "count_star", "sum", "avg", "min", "max")

// nullsOf returns the key that puts the NULLs of another key where that key puts them.
func nullsOf(order, key *sqltree.Node) *sqltree.Node {
	operand := key.Clone()
	operand.Set("alias", "")
	test := "OPERATOR_IS_NULL"
	if order.Is("null_order", "NULLS FIRST") {
		test = "OPERATOR_IS_NOT_NULL"
	}
	out := order.Clone()
	out.Set("type", "ASCENDING")
	out.Set("null_order", "ORDER_DEFAULT")
	out.Set("expression", sqltree.Expression("OPERATOR", test, "children", []any{operand}))
	return out
}

// inconstant returns a form of a limit that the engine does not know when it plans.
func inconstant(limit *sqltree.Node) *sqltree.Node {
	zero := sqltree.Cast(sqltree.Call("floor", false, sqltree.Call("random", false)), "BIGINT")
	return sqltree.Call("+", true, zero, limit)
}
