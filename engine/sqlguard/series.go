package sqlguard

import "math/big"

// seriesRule bounds range and generate_series. As a list, every row of a vector
// may hold one, which the engine's memory limit does not bound; as rows it is a
// stream that can be interrupted.
func seriesRule(a *analysis, n *node, namespace string) *Error {
	args := n.list("children")
	if len(args) == 0 || len(args) > 3 {
		return nil // not a call that exists
	}
	limit := int64(maxSeries)
	switch {
	case namespace == "table":
		limit = maxSeriesRows
	case a.lambdas > 0:
		limit = maxInnerRange
	case a.unnested == n && !contains(n, "COLUMN_REF") && !contains(n, "SUBQUERY"):
		limit = maxUnnested
	}
	if count, ok := constantCount(n); ok {
		if count.Cmp(big.NewInt(limit)) > 0 {
			return refuse(CodeArgument, "", "the series has more than %d elements", limit)
		}
		return nil
	}
	if namespace == "table" {
		return nil
	}
	a.replaceCall(n, func() *node { return guardedSeries(n, limit) })
	return nil
}

// constantCount is the number of elements of a series of constant integers.
func constantCount(n *node) (*big.Int, bool) {
	var v [3]*big.Int
	args := n.list("children")
	for i := range args {
		lit, ok := constantOf(argument(n, i))
		if !ok || lit.family != litNumber {
			return nil, false
		}
		x, ok := new(big.Int).SetString(lit.text, 10)
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

// guardedSeries fails when the element after the limit would still lie before
// the end. The comparison holds for numbers, dates and timestamps alike.
func guardedSeries(n *node, limit int64) *node {
	name := n.str("function_name")
	names := []string{"a", "b", "c"}
	var operands []operand
	for i := range n.list("children") {
		operands = append(operands, operand{names[i], argument(n, i)})
	}
	return guard(operands, func(use func(string) *node) *node {
		var over *node
		args := make([]any, len(operands))
		for i, o := range operands {
			args[i] = use(o.name)
		}
		big := func() *node { return castNode(intNode(limit), "BIGINT") }
		switch len(operands) {
		case 1:
			over = greaterNode(use("a"), big())
		case 2:
			over = greaterNode(callNode("-", true, castNode(use("b"), "HUGEINT"), castNode(use("a"), "HUGEINT")), big())
		default:
			after := func() *node { return callNode("+", true, use("a"), callNode("*", true, use("c"), big())) }
			up := allOf(greaterNode(after(), use("a")), greaterNode(use("b"), after()))
			down := allOf(greaterNode(use("a"), after()), greaterNode(after(), use("b")))
			over = expression("CONJUNCTION", "CONJUNCTION_OR", "children", []any{up, down})
		}
		return caseNode(over, guardError(), callNode(name, false, args...))
	})
}

func allOf(conds ...any) *node {
	return expression("CONJUNCTION", "CONJUNCTION_AND", "children", conds)
}
