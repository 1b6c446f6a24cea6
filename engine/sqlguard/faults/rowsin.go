package faults

import (
	"github.com/lakewarden/lakewarden/engine/sqlguard/refusal"
	"github.com/lakewarden/lakewarden/engine/sqltree"
)

// refuseRows refuses the comparisons of a row with the rows of a subquery that the engine answers
// wrongly. (1, 2) IN a subquery is NULL to it, not false, whenever one of the rows has a NULL, even
// if the other columns differ, so that NOT IN finds nothing. Its order of rows takes NULL for the
// greatest value. As a condition, where NULL and false are alike, IN is answered correctly.
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
				"a row is compared with a subquery by IN only as a condition, and not by NOT IN; use EXISTS or NOT EXISTS").At(n)
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
