package faults

import (
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqlguard/refusal"
	"github.com/lakewarden/lakewarden/engine/sqltree"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// The engine adds the partial sums of values of more than 64 bits without a check of their
// range: sum and avg wrap. It computes the quantiles between two such values as DOUBLE. The
// aggregates get a condition that fails instead. For other types the engine knows when it plans
// that the condition is false.

// narrow is the number of digits of a DECIMAL whose interpolation is exact: DOUBLE has 53 bits.
const narrow = 15

// wideFunctions return values of more than 64 bits for narrower ones.
var wideFunctions = sqltree.Set("factorial", "md5_number", "md5_number_lower", "md5_number_upper")

// mayBeWide reports whether a value of the statement may have more than 15 digits and a type of
// more than 64 bits.
func mayBeWide(stmt *sqltree.Node, columns []engine.Column) bool {
	for _, c := range columns {
		if wideType(c.Type) {
			return true
		}
	}
	sums, product := 0, false
	return sqltree.Walk(stmt, func(n *sqltree.Node) sqltree.Step {
		switch n.Str("class") {
		case "CAST":
			if wideTree(n.Child("cast_type")) {
				return sqltree.Stop
			}
		case "CONSTANT":
			if wideTree(n.Child("value").Child("type")) {
				return sqltree.Stop
			}
		case "FUNCTION", "WINDOW":
			name := n.Function()
			product = product || name == "*" || name == "<<"
			if strings.Contains(name, "sum") {
				sums++
			}
			if wideFunctions[name] || product && sums > 1 {
				return sqltree.Stop
			}
		}
		return sqltree.Into
	})
}

func wideType(t sqltype.Type) bool {
	switch t := t.(type) {
	case sqltype.Decimal:
		return t.Precision > narrow
	case sqltype.List:
		return wideType(t.Element)
	case sqltype.Array:
		return wideType(t.Element)
	case sqltype.Map:
		return wideType(t.Key) || wideType(t.Value)
	case *sqltype.Struct:
		for _, f := range t.Fields {
			if wideType(f.Type) {
				return true
			}
		}
	}
	return t == sqltype.HugeInt || t == sqltype.UHugeInt
}

// wideTree reports whether a type of the tree is wide. A type that contains others is.
func wideTree(t *sqltree.Node) bool {
	switch t.Str("id") {
	case "HUGEINT", "UHUGEINT", "LIST", "ARRAY", "MAP", "STRUCT", "UNION":
		return true
	case "DECIMAL":
		width, _ := t.Child("type_info").Get("width").(sqltree.Number)
		return len(width) > 1 && string(width) > "15"
	}
	return false
}

// Patterns of types that have the faults.
const (
	wrapping     = `^(HUGEINT|DECIMAL\((19|[23][0-9]),)`
	interpolated = `^DECIMAL\((1[6-9]|[23][0-9]),`
)

// aggregate returns an aggregate that fails where the engine would give a wrong result, or nil.
func (m *mender) aggregate(n *sqltree.Node) *sqltree.Node {
	var pattern, least, guard, message string
	switch n.Function() {
	case "sum", "avg", "mean":
		pattern, guard = wrapping, "sum"
		message = "the sum of the absolute values is out of range"
	case "median", "quantile_cont", "mad":
		pattern, guard, least = interpolated, "max", "9007199254740992"
		message = "the values between which to interpolate have too many digits"
	default:
		return nil
	}
	arg := argument(n)
	if arg == nil {
		return nil
	}
	if sqltree.Contains(arg, "STAR") {
		m.refused = refusal.New(refusal.CodeArgument, n.Function(),
			"%s of COLUMNS is not served with values of more than 15 digits; name the columns", n.Function()).At(n)
		return nil
	}
	typ := sqltree.Call("typeof", false, like(n, "any_value", arg))
	if n.Is("class", "WINDOW") {
		typ = sqltree.Call("typeof", false, arg.Clone())
	}
	wide := sqltree.Call("regexp_matches", false, typ, sqltree.Text(pattern))
	size := like(n, guard, sqltree.Call("abs", false, tryDouble(arg.Clone())))
	check := sqltree.Expression("CONJUNCTION", "CONJUNCTION_AND", "children", []any{wide,
		sqltree.Expression("COMPARISON", "COMPARE_GREATERTHANOREQUALTO", "left", size, "right", rangeOf(typ, least))})
	same := n.Clone()
	same.Set("alias", "")
	return sqltree.Case(check, sqltree.Call("error", false, sqltree.Text(message)), same)
}

// argument returns the values that an aggregate reads.
func argument(n *sqltree.Node) *sqltree.Node {
	orders := n.Child("order_bys").List("orders")
	if len(orders) > 0 && len(n.List("children")) == 1 && n.Function() == "quantile_cont" {
		return orders[0].(*sqltree.Node).Child("expression") // WITHIN GROUP
	}
	if len(n.List("children")) == 0 {
		return nil
	}
	return n.Argument(0)
}

// like returns another aggregate over the rows of n.
func like(n *sqltree.Node, name string, arg *sqltree.Node) *sqltree.Node {
	out := n.Clone()
	out.Set("alias", "")
	out.Set("function_name", name)
	out.Set("children", []any{arg.Clone()})
	out.Set("distinct", false)
	if n.Is("class", "FUNCTION") {
		out.Set("order_bys", sqltree.Object("type", "ORDER_MODIFIER", "orders", []any{}))
	} else {
		out.Set("arg_orders", []any{})
		out.Set("ignore_nulls", false)
	}
	return out
}

func tryDouble(e *sqltree.Node) *sqltree.Node {
	cast := sqltree.Cast(e, "DOUBLE")
	cast.Set("try_cast", true)
	return cast
}

// rangeOf returns the least size of a wide value that is out of range: most, which is in units
// of the last digit, or what DECIMAL(38) and HUGEINT cannot hold.
func rangeOf(typ *sqltree.Node, most string) *sqltree.Node {
	scale := sqltree.Cast(sqltree.Call("regexp_extract", false, typ.Clone(), sqltree.Text(",([0-9]+)"), sqltree.Integer(1)), "INTEGER")
	scale.Set("try_cast", true)
	double := func(text string) *sqltree.Node { return sqltree.Cast(sqltree.Text(text), "DOUBLE") }
	huge := "1.7e38"
	if most == "" {
		most = "1e38"
	} else {
		huge = most
	}
	ten := sqltree.Call("/", true, double(most), sqltree.Call("pow", false, double("10"), scale))
	return sqltree.Expression("OPERATOR", "OPERATOR_COALESCE", "children", []any{ten, double(huge)})
}

// pivot refuses aggregates that cannot be rewritten: PIVOT takes nothing else.
func (m *mender) pivot(n *sqltree.Node) {
	sqltree.Walk(n.Get("aggregates"), func(e *sqltree.Node) sqltree.Step {
		if m.aggregate(e.Clone()) == nil {
			return sqltree.Into
		}
		m.refused = refusal.New(refusal.CodeArgument, e.Function(),
			"%s in PIVOT is not served with values of more than 15 digits; aggregate in a subquery", e.Function()).At(e)
		return sqltree.Stop
	})
}

func equalFold(a, b string) bool { return a != "" && strings.EqualFold(a, b) }
