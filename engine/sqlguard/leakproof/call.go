package leakproof

import (
	"math/big"
	"slices"
	"strings"

	"github.com/lakewarden/lakewarden/engine/sqltree"
)

// call proves a call: of an aggregate, of an operator on numbers, or of a listed function
// with arguments of its kinds.
func (p *prover) call(n *sqltree.Node, at spot) (value, error) {
	name := n.Function()
	if p.list.has("aggregate", name) {
		return p.aggregate(name, n, at)
	}
	if n.Child("filter") != nil || n.Flag("distinct") || len(n.Child("order_bys").List("orders")) > 0 || n.Flag("export_state") {
		return value{}, doubtf("%s is no aggregate of the list", name)
	}
	args := n.List("children")
	if p.list.has("arithmetic", name) && len(args) == 2 {
		a, err := p.expr(args[0].(*sqltree.Node), at)
		if err != nil {
			return a, err
		}
		b, err := p.expr(args[1].(*sqltree.Node), at)
		if err != nil {
			return b, err
		}
		v, ok := arithmetic(name, a, b)
		return v, unless(ok, name+" of "+string(a.kind)+" and "+string(b.kind))
	}
	return p.listed(name, args, at)
}

// listed proves a call that matches a signature of the list.
func (p *prover) listed(name string, args []any, at spot) (value, error) {
	values := make([]value, len(args))
	out := value{}
	for i, a := range args {
		v, err := p.expr(a.(*sqltree.Node), at)
		if err != nil {
			return v, err
		}
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
		return out, nil
	}
	return out, doubtf("%s is not listed with these arguments", name)
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
func (p *prover) aggregate(name string, n *sqltree.Node, at spot) (value, error) {
	args := n.List("children")
	switch {
	case !at.aggregates:
		return value{}, doubtf("%s in this place", name)
	case len(n.Child("order_bys").List("orders")) > 0, n.Flag("export_state"):
		return value{}, doubtf("%s with an order", name)
	}
	inner := at
	inner.aggregates, inner.inside, inner.subqueries = false, true, false
	if filter := n.Child("filter"); filter != nil {
		if err := p.condition(filter, inner); err != nil {
			return value{}, err
		}
	}
	if len(args) == 0 && (name == "count_star" || name == "count") {
		return integerValue(64), nil
	}
	if len(args) != 1 || name == "count_star" {
		return value{}, doubtf("arguments of %s", name)
	}
	prove := p.total
	if at.top {
		prove = p.expr
	}
	v, err := prove(args[0].(*sqltree.Node), inner)
	if err != nil {
		return v, err
	}
	if n.Flag("distinct") && !v.exact() {
		return v, doubt("which of equal doubles is taken depends on their order")
	}
	out, reason := aggregated(name, v)
	return out, unless(reason == "", reason)
}

// subquery proves a subquery in an expression. A scalar subquery must have exactly one row.
func (p *prover) subquery(n *sqltree.Node, at spot) (value, error) {
	if !at.subqueries {
		return value{}, doubt("a subquery in this place")
	}
	sel, err := p.selectNode(n.Child("subquery").Child("node"), at.scope, false)
	if err != nil {
		return value{}, err
	}
	if err := certain(sel.columns); err != nil {
		return value{}, err
	}
	switch n.Str("subquery_type") {
	case "EXISTS", "NOT_EXISTS":
		return value{kind: kindBoolean}, nil
	case "SCALAR":
		if !sel.single || len(sel.columns) != 1 || !sel.columns[0].known {
			return value{}, doubt("a subquery of any number of rows as a value")
		}
		return sel.columns[0].value, nil
	case "ANY":
		if !n.Is("comparison_type", "COMPARE_EQUAL") || len(sel.columns) != 1 || !sel.columns[0].known {
			return value{}, doubt("a comparison with any row of a subquery")
		}
		v, err := p.total(n.Child("child"), at)
		if err != nil {
			return v, err
		}
		if _, ok := common(v, sel.columns[0].value); !ok {
			return v, doubtf("comparing %s and %s", v.kind, sel.columns[0].value.kind)
		}
		return value{kind: kindBoolean}, nil
	}
	return value{}, doubt("a subquery of this kind")
}
