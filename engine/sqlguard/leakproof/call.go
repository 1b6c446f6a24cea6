package leakproof

import (
	"math/big"
	"slices"
	"strings"

	"github.com/lakewarden/lakewarden/engine/sqltree"
)

// call proves a call: of an aggregate, of an operator on numbers, or of a listed function
// with arguments of its kinds.
func (p *prover) call(n *sqltree.Node, at spot) value {
	name := n.Function()
	if p.list.has("aggregate", name) {
		return p.aggregate(name, n, at)
	}
	if n.Child("filter") != nil || n.Flag("distinct") || len(n.Child("order_bys").List("orders")) > 0 || n.Flag("export_state") {
		panic(doubtf("%s is no aggregate of the list", name))
	}
	args := n.List("children")
	if p.list.has("arithmetic", name) && len(args) == 2 {
		a := p.expr(n.Argument(0), at)
		b := p.expr(n.Argument(1), at)
		v, ok := arithmetic(name, a, b)
		doubtIf(!ok, "%s of %s and %s", name, a.kind, b.kind)
		return v
	}
	return p.listed(name, args, at)
}

// listed proves a call that matches a signature of the list.
func (p *prover) listed(name string, args []any, at spot) value {
	values := make([]value, len(args))
	out := value{}
	for i, a := range args {
		v := p.expr(a.(*sqltree.Node), at)
		values[i] = v
		out.fallible = out.fallible || v.fallible
	}
	for _, s := range p.list.Functions[name] {
		if !fits(s, args, values) {
			continue
		}
		fallible := out.fallible
		switch s.result {
		case "bigint":
			out = integerValue(64)
		case "same":
			out = integerValue(values[0].bits)
		default:
			out.kind = kind(s.result)
		}
		out.fallible = fallible
		return out
	}
	panic(doubtf("%s is not listed with these arguments", name))
}

func fits(s Signature, args []any, values []value) bool {
	if len(s.Arguments) != len(args) {
		return false
	}
	for i, want := range s.Arguments {
		arg := args[i].(*sqltree.Node)
		constant := arg.Is("class", "CONSTANT")
		switch want {
		case "pattern":
			if !constant || values[i].kind != kindText {
				return false
			}
		case "place", "divisor", "size":
			least := int64(1)
			if want == "size" {
				least = 0
			}
			if !constant || !literalBetween(arg, least, 1_000_000) {
				return false
			}
		case "part":
			lit, ok := sqltree.LiteralOf(arg)
			if !constant || !ok || !slices.Contains([]string{"year", "month", "day", "quarter"}, strings.ToLower(lit.Text)) {
				return false
			}
		default:
			if values[i].kind != kind(want) || values[i].bits > 64 {
				return false
			}
		}
	}
	return true
}

// literalBetween reports whether n is an integer literal between least and most.
func literalBetween(n *sqltree.Node, least, most int64) bool {
	lit, ok := sqltree.LiteralOf(n)
	v, isInt := new(big.Int).SetString(lit.Text, 10)
	return ok && lit.Family == sqltree.ExactNumber && isInt && v.IsInt64() && v.Int64() >= least && v.Int64() <= most
}

// aggregate proves an aggregate whose result does not depend on the order of its rows.
func (p *prover) aggregate(name string, n *sqltree.Node, at spot) value {
	args := n.List("children")
	switch {
	case !at.aggregates:
		panic(doubtf("%s in this place", name))
	case len(n.Child("order_bys").List("orders")) > 0, n.Flag("export_state"):
		panic(doubtf("%s with an order", name))
	}
	inner := at
	inner.aggregates, inner.inside, inner.subqueries = false, true, false
	if filter := n.Child("filter"); filter != nil {
		p.condition(filter, inner)
	}
	if len(args) == 0 && (name == "count_star" || name == "count") {
		return integerValue(64)
	}
	doubtIf(len(args) != 1 || name == "count_star", "arguments of %s", name)
	prove := p.total
	if at.top {
		prove = p.expr
	}
	v := prove(n.Argument(0), inner)
	doubtIf(n.Flag("distinct") && !v.exact(), "which of equal doubles is taken depends on their order")
	out, reason := aggregated(name, v)
	doubtIf(reason != "", "%s", reason)
	return out
}

// subquery proves a subquery in an expression. A scalar subquery must have exactly one row.
func (p *prover) subquery(n *sqltree.Node, at spot) value {
	doubtIf(!at.subqueries, "a subquery in this place")
	sel := p.selectNode(n.Child("subquery").Child("node"), at.scope, false)
	certain(sel.columns)
	switch n.Str("subquery_type") {
	case "EXISTS", "NOT_EXISTS":
		return value{kind: kindBoolean}
	case "SCALAR":
		doubtIf(!sel.single || len(sel.columns) != 1 || !sel.columns[0].known, "a subquery of any number of rows as a value")
		return sel.columns[0].value
	case "ANY":
		if !n.Is("comparison_type", "COMPARE_EQUAL") || len(sel.columns) != 1 || !sel.columns[0].known {
			panic(doubt("a comparison with any row of a subquery"))
		}
		v := p.total(n.Child("child"), at)
		if _, ok := common(v, sel.columns[0].value); !ok {
			panic(doubtf("comparing %s and %s", v.kind, sel.columns[0].value.kind))
		}
		return value{kind: kindBoolean}
	}
	panic(doubt("a subquery of this kind"))
}
