package arguments

import (
	"math/big"

	"github.com/lakewarden/lakewarden/engine/sqlguard/refusal"
	"github.com/lakewarden/lakewarden/engine/sqltree"
)

// seriesRule bounds range and generate_series. As a list, a series is held for every row of
// a vector, which the engine's memory limit does not cover. As a table function it is a
// stream, which can be interrupted.
func seriesRule(b *Bounds, n *sqltree.Node, namespace string) *refusal.Error {
	args := n.List("children")
	if len(args) == 0 || len(args) > 3 {
		return nil // not a call that exists
	}
	limit := int64(maxSeries)
	switch {
	case namespace == "table":
		limit = maxSeriesRows
	case b.lambdas > 0:
		limit = maxInnerRange
	case b.Unnested == n && !sqltree.Contains(n, "COLUMN_REF") && !sqltree.Contains(n, "SUBQUERY"):
		limit = maxUnnested
	}
	if count, ok := constantCount(n); ok {
		if count.Cmp(big.NewInt(limit)) > 0 {
			return refusal.New(refusal.CodeArgument, "", "the series has more than %d elements", limit)
		}
		return nil
	}
	if namespace == "table" {
		return nil
	}
	b.edits.Replace(n, func() *sqltree.Node { return guardedSeries(n, limit) })
	return nil
}

// constantCount returns the number of elements of a series of constant integers.
func constantCount(n *sqltree.Node) (*big.Int, bool) {
	var v [3]*big.Int
	args := n.List("children")
	for i := range args {
		lit, ok := sqltree.LiteralOf(n.Argument(i))
		if !ok || lit.Family != sqltree.ExactNumber {
			return nil, false
		}
		x, ok := new(big.Int).SetString(lit.Text, 10)
		if !ok {
			return nil, false
		}
		v[i] = x
	}
	from, to, step := new(big.Int), v[0], big.NewInt(1)
	if len(args) > 1 {
		from, to = v[0], v[1]
	}
	if len(args) == 3 {
		step = v[2]
	}
	if step.Sign() == 0 {
		return new(big.Int), true // the engine's own error
	}
	count := new(big.Int).Sub(to, from)
	return count.Div(count, step), true
}

// guardedSeries returns a series that fails if the element after the limit is still before
// the end. The comparison is valid for numbers, dates and timestamps.
func guardedSeries(n *sqltree.Node, limit int64) *sqltree.Node {
	name := n.Str("function_name")
	names := []string{"a", "b", "c"}
	var operands []operand
	for i := range n.List("children") {
		operands = append(operands, operand{names[i], n.Argument(i)})
	}
	return guard(operands, func(use func(string) *sqltree.Node) *sqltree.Node {
		var over *sqltree.Node
		args := make([]any, len(operands))
		for i, o := range operands {
			args[i] = use(o.name)
		}
		big := func() *sqltree.Node { return sqltree.Cast(sqltree.Integer(limit), "BIGINT") }
		switch len(operands) {
		case 1:
			over = sqltree.Greater(use("a"), big())
		case 2:
			over = sqltree.Greater(sqltree.Call("-", true, sqltree.Cast(use("b"), "HUGEINT"), sqltree.Cast(use("a"), "HUGEINT")), big())
		default:
			after := func() *sqltree.Node {
				return sqltree.Call("+", true, use("a"), sqltree.Call("*", true, use("c"), big()))
			}
			up := allOf(sqltree.Greater(after(), use("a")), sqltree.Greater(use("b"), after()))
			down := allOf(sqltree.Greater(use("a"), after()), sqltree.Greater(after(), use("b")))
			over = sqltree.Expression("CONJUNCTION", "CONJUNCTION_OR", "children", []any{up, down})
		}
		return sqltree.Case(over, guardError(), sqltree.Call(name, false, args...))
	})
}

func allOf(conds ...any) *sqltree.Node {
	return sqltree.Expression("CONJUNCTION", "CONJUNCTION_AND", "children", conds)
}
