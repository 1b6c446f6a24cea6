package leakproof

import (
	"math/big"
	"strconv"

	"github.com/lakewarden/lakewarden/engine/sqlguard/constant"
	"github.com/lakewarden/lakewarden/engine/sqltree"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// spot is the place of an expression.
type spot struct {
	scope *scope
	// aggregates reports whether aggregates are allowed.
	aggregates bool
	// top reports that the expression belongs to the outermost SELECT and that this one
	// aggregates. All its rows are computed, so an argument may fail if it does so under
	// any plan.
	top bool
	// inside reports that the expression is the argument of an aggregate, which may use
	// only columns of its own SELECT.
	inside bool
	// subqueries reports whether subqueries are allowed.
	subqueries bool
}

// total proves that an expression cannot fail at all.
func (p *prover) total(n *sqltree.Node, at spot) value {
	v := p.expr(n, at)
	doubtIf(v.fallible, "%s may fail", form(n))
	return v
}

func form(n *sqltree.Node) string {
	if n.Is("class", "FUNCTION") {
		return n.Function()
	}
	return n.Str("type")
}

// expr proves that an expression cannot fail on hidden rows.
func (p *prover) expr(n *sqltree.Node, at spot) value {
	doubtIf(!p.list.has("form", n.Str("type")), "%s is not listed", n.Str("type"))
	switch n.Str("class") {
	case "COLUMN_REF":
		v, depth := at.scope.column(n)
		doubtIf(at.inside && depth > 0, "an aggregate of an outer column")
		return v
	case "CONSTANT":
		return constantValue(n)
	case "PARAMETER":
		v, known := argumentValue(p.args.Of(n))
		doubtIf(!known, "a parameter of a type that is not known")
		return v
	case "CAST":
		return p.cast(n, at)
	case "COMPARISON":
		return p.comparison(at, n.Child("left"), n.Child("right"))
	case "BETWEEN":
		return p.comparison(at, n.Child("input"), n.Child("lower"), n.Child("upper"))
	case "CONJUNCTION":
		for c := range n.Each("children") {
			p.condition(c, at)
		}
		return value{kind: kindBoolean}
	case "OPERATOR":
		return p.operator(n, at)
	case "CASE":
		return p.alternatives(n, at)
	case "FUNCTION":
		return p.call(n, at)
	case "SUBQUERY":
		return p.subquery(n, at)
	}
	panic(doubtf("%s is not listed", n.Str("class")))
}

// condition proves an operand of a condition.
func (p *prover) condition(n *sqltree.Node, at spot) {
	if v := p.total(n, at); v.kind != kindBoolean && v.kind != kindNull {
		panic(doubtf("%s as a condition", v.kind))
	}
}

func constantValue(n *sqltree.Node) value {
	v := n.Child("value")
	if v.Flag("is_null") {
		return value{kind: kindNull}
	}
	lit, ok := sqltree.LiteralValue(v)
	doubtIf(!ok, "a constant of type %s", v.Child("type").Str("id"))
	switch lit.Family {
	case sqltree.TextLiteral:
		return value{kind: kindText}
	case sqltree.Boolean:
		return value{kind: kindBoolean}
	case sqltree.ExactNumber:
		return numberValue(v)
	}
	panic(doubt("a constant of floating point"))
}

// argumentValue returns what the engine's type of a parameter allows to know of its value.
func argumentValue(a constant.Argument) (v value, known bool) {
	switch {
	case a.Null:
		return value{kind: kindNull}, true
	case !a.HasLiteral:
		return value{}, false
	case a.Literal.Family == sqltree.Boolean:
		return value{kind: kindBoolean}, true
	case a.Literal.Family == sqltree.TextLiteral:
		return value{kind: kindText}, true
	case a.Precision > 0:
		return decimalOf(a.Precision, a.Scale, power10(a.Precision)), true
	}
	return integerValue(64), true
}

func numberValue(v *sqltree.Node) value {
	digits, _ := v.Get("value").(sqltree.Number)
	n, ok := new(big.Int).SetString(string(digits), 10)
	typ := v.Child("type")
	doubtIf(!ok, "a constant number")
	if bits, signed := sqltype.IntegerBits(sqltype.Scalar(typ.Str("id"))); signed && bits <= 64 {
		least := leastBits(n)
		return value{kind: kindInteger, bits: bits, bound: n.Abs(n), literal: true, least: least}
	}
	width, okWidth := smallNumber(typ.Child("type_info").Get("width"))
	scale, okScale := smallNumber(typ.Child("type_info").Get("scale"))
	doubtIf(!typ.Is("id", "DECIMAL") || !okWidth || !okScale, "a constant of type %s", typ.Str("id"))
	out := decimalOf(width, scale, n.Abs(n))
	out.literal = true
	return out
}

// leastBits returns the size of the smallest integer type that holds n.
func leastBits(n *big.Int) int {
	for bits := 8; bits < 64; bits *= 2 {
		if constant.InRange(n, bits, true) {
			return bits
		}
	}
	return 64
}

func smallNumber(v any) (int, bool) {
	digits, _ := v.(sqltree.Number)
	n, err := strconv.Atoi(string(digits))
	return n, err == nil && n >= 0 && n <= widest
}

// cast proves the listed casts, and constants of date and time.
func (p *prover) cast(n *sqltree.Node, at spot) value {
	if lit, ok := sqltree.LiteralOf(n); ok && (lit.Family == sqltree.Date || lit.Family == sqltree.Timestamp) {
		if lit.Family == sqltree.Date {
			_, strict := sqltype.ParseDate(lit.Text)
			doubtIf(!strict, "a date in another form")
			return value{kind: kindDate}
		}
		_, strict := sqltype.ParseTimestamp(lit.Text)
		doubtIf(!strict, "a timestamp in another form")
		return value{kind: kindTimestamp}
	}
	from := p.expr(n.Child("child"), at)
	to, known := columnValueOf(sqltype.Scalar(n.Child("cast_type").Str("id")))
	if n.Flag("try_cast") || !known || !p.list.has("cast", string(from.kind)+" "+string(to.kind)) {
		panic(doubtf("a cast to %s", n.Child("cast_type").Str("id")))
	}
	doubtIf(to.kind == kindInteger && from.bits > to.bits, "a cast to a narrower integer")
	if to.number() {
		to.bound = from.bound
	}
	to.fallible = from.fallible
	return to
}

// comparison proves that values have a common type to which they convert without failure. A
// constant text next to a date or time must be a literal of that type.
func (p *prover) comparison(at spot, nodes ...*sqltree.Node) value {
	all := value{kind: kindNull}
	for _, n := range nodes {
		v := p.expr(n, at)
		if v.kind == kindText && p.constant(n) && all.kind != kindNull && all.kind != kindText {
			doubtIf(!p.standsFor(n, all), "a text beside a %s", all.kind)
			continue
		}
		both, ok := common(all, v)
		doubtIf(!ok, "comparing %s and %s", all.kind, v.kind)
		all = both
	}
	return value{kind: kindBoolean, fallible: all.fallible}
}

// constant reports whether the engine derives the type of n from its neighbours.
func (p *prover) constant(n *sqltree.Node) bool {
	return n.Is("class", "CONSTANT") || n.Is("class", "PARAMETER")
}

// standsFor reports whether a constant text is a literal of the type of neighbour. For a
// parameter this follows from the kind of its argument.
func (p *prover) standsFor(n *sqltree.Node, beside value) bool {
	if n.Is("class", "PARAMETER") {
		_, ok := p.args.Of(n).For(beside.engineColumn())
		return ok
	}
	_, ok := constant.For(beside.engineColumn(), n)
	return ok
}

func (p *prover) operator(n *sqltree.Node, at spot) value {
	children := n.List("children")
	args := make([]*sqltree.Node, len(children))
	for i, c := range children {
		args[i] = c.(*sqltree.Node)
	}
	switch n.Str("type") {
	case "OPERATOR_NOT":
		p.condition(args[0], at)
		return value{kind: kindBoolean}
	case "OPERATOR_IS_NULL", "OPERATOR_IS_NOT_NULL":
		return value{kind: kindBoolean, fallible: p.expr(args[0], at).fallible}
	case "COMPARE_IN", "COMPARE_NOT_IN":
		for _, a := range args[1:] {
			if _, constant := sqltree.LiteralOf(a); !constant && !a.Is("class", "PARAMETER") {
				panic(doubt("IN of something that is no constant"))
			}
		}
		return p.comparison(at, args...)
	case "OPERATOR_COALESCE":
		return p.unified(at, args...)
	}
	panic(doubtf("%s is not listed", n.Str("type")))
}

func (p *prover) alternatives(n *sqltree.Node, at spot) value {
	// The engine derives the common type beginning with ELSE, which matters for literals.
	results := []*sqltree.Node{n.Child("else_expr")}
	fallible := false
	for check := range n.Each("case_checks") {
		when := p.expr(check.Child("when_expr"), at)
		doubtIf(when.kind != kindBoolean, "%s as a condition", when.kind)
		fallible = fallible || when.fallible
		results = append(results, check.Child("then_expr"))
	}
	v := p.unified(at, results...)
	v.fallible = v.fallible || fallible
	return v
}

// unified returns the common type of alternatives.
func (p *prover) unified(at spot, nodes ...*sqltree.Node) value {
	all := value{kind: kindNull}
	for _, n := range nodes {
		v := p.expr(n, at)
		both, ok := common(all, v)
		doubtIf(!ok, "%s and %s as alternatives", all.kind, v.kind)
		all = both
	}
	return all
}
