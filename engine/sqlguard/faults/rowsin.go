package faults

import (
	"github.com/lakewarden/lakewarden/engine/sqlguard/refusal"
	"github.com/lakewarden/lakewarden/engine/sqltree"
)

// refuseRows refuses those comparisons of a row with the rows of a subquery that the engine answers
// wrongly. If a row of the subquery has a NULL, the engine answers IN with NULL in place of false,
// even if the other columns differ, so that NOT IN finds nothing. In an order of rows it takes NULL
// for the greatest value. In a condition, where NULL and false mean the same, IN is right.
func refuseRows(stmt *sqltree.Node) *refusal.Error {
	conditions := map[*sqltree.Node]bool{}
	var refused *refusal.Error
	sqltree.Walk(stmt, func(n *sqltree.Node) sqltree.Step {
		switch {
		case n.Is("type", "SELECT_NODE"):
			for _, field := range []string{"where_clause", "having", "qualify"} {
				addConditions(conditions, n.Child(field))
			}
		case n.Is("type", "JOIN"):
			addConditions(conditions, n.Child("condition"))
		case comparesRow(n) && !(conditions[n] && n.Is("comparison_type", "COMPARE_EQUAL")):
			refused = refusal.New(refusal.CodeSyntaxNode, "IN",
				"a row can be compared with a subquery only by IN, not by NOT IN, and only as a condition; use EXISTS or NOT EXISTS").At(n)
			return sqltree.Stop
		}
		return sqltree.Into
	})
	return refused
}

// addConditions adds the parts of a condition that AND and OR connect.
func addConditions(to map[*sqltree.Node]bool, n *sqltree.Node) {
	if n == nil {
		return
	}
	to[n] = true
	if n.Is("class", "CONJUNCTION") {
		for child := range n.Each("children") {
			addConditions(to, child)
		}
	}
}

// comparesRow reports whether n compares several columns with those of a subquery.
func comparesRow(n *sqltree.Node) bool {
	operand := n.Child("child")
	return n.Is("class", "SUBQUERY") && n.Is("subquery_type", "ANY") && operand != nil && operand.Is("class", "FUNCTION") &&
		operand.Function() == "row" && len(operand.List("children")) > 1
}
