package leakproof

import (
	"math/big"
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/engine/sqlguard/constant"
	"github.com/lakewarden/lakewarden/engine/sqltree"
)

// spot is where an expression stands.
type spot struct {
	scope *provenScope
	// aggregates may stand here.
	aggregates bool
	// top is the outermost SELECT when it aggregates: all its rows are computed,
	// so an argument may fail that does so on any plan.
	top bool
	// inside an aggregate only columns of its own SELECT may be named.
	inside bool
	// subqueries may stand here.
	subqueries bool
}

// total proves that an expression cannot fail at all.
func (p *prover) total(n *sqltree.Node, at spot) (provenValue, error) {
	v, err := p.expr(n, at)
	if err == nil && v.fallible {
		err = doubtf("%s may fail", form(n))
	}
	return v, err
}

func form(n *sqltree.Node) string {
	if n.Is("class", "FUNCTION") {
		return strings.ToLower(n.Str("function_name"))
	}
	return n.Str("type")
}

// expr proves that an expression cannot fail on hidden rows.
func (p *prover) expr(n *sqltree.Node, at spot) (provenValue, error) {
	if !p.list.has("form", n.Str("type")) {
		return provenValue{}, doubtf("%s is not listed", n.Str("type"))
	}
	switch n.Str("class") {
	case "COLUMN_REF":
		v, depth, err := at.scope.column(n)
		if err == nil && at.inside && depth > 0 {
			err = doubt("an aggregate of an outer column")
		}
		return v, err
	case "CONSTANT":
		return constantValue(n)
	case "PARAMETER":
		v, known := argumentValue(p.args.Of(n))
		return v, unless(known, "a parameter of a type that is not known")
	case "CAST":
		return p.cast(n, at)
	case "COMPARISON":
		return p.comparison(at, n.Child("left"), n.Child("right"))
	case "BETWEEN":
		return p.comparison(at, n.Child("input"), n.Child("lower"), n.Child("upper"))
	case "CONJUNCTION":
		for _, c := range n.List("children") {
			if err := p.condition(c.(*sqltree.Node), at); err != nil {
				return provenValue{}, err
			}
		}
		return provenValue{kind: kindBoolean}, nil
	case "OPERATOR":
		return p.operator(n, at)
	case "CASE":
		return p.alternatives(n, at)
	case "FUNCTION":
		return p.call(n, at)
	case "SUBQUERY":
		return p.subquery(n, at)
	}
	return provenValue{}, doubtf("%s is not listed", n.Str("class"))
}

// condition proves a part of a condition.
func (p *prover) condition(n *sqltree.Node, at spot) error {
	v, err := p.total(n, at)
	if err == nil && v.kind != kindBoolean && v.kind != kindNull {
		err = doubtf("%s as a condition", v.kind)
	}
	return err
}

func constantValue(n *sqltree.Node) (provenValue, error) {
	v := n.Child("value")
	if v.Flag("is_null") {
		return provenValue{kind: kindNull}, nil
	}
	lit, ok := sqltree.LiteralValue(v)
	if !ok {
		return provenValue{}, doubtf("a constant of type %s", v.Child("type").Str("id"))
	}
	switch lit.Family {
	case sqltree.TextLiteral:
		return provenValue{kind: kindText}, nil
	case sqltree.Boolean:
		return provenValue{kind: kindBoolean}, nil
	case sqltree.ExactNumber:
		return numberValue(v)
	}
	return provenValue{}, doubt("a constant of floating point")
}

// argumentValue is the value of a parameter, as the engine types it.
func argumentValue(a constant.Argument) (v provenValue, known bool) {
	switch {
	case a.Null:
		return provenValue{kind: kindNull}, true
	case !a.HasLiteral:
		return provenValue{}, false
	case a.Literal.Family == sqltree.Boolean:
		return provenValue{kind: kindBoolean}, true
	case a.Literal.Family == sqltree.TextLiteral:
		return provenValue{kind: kindText}, true
	case a.Precision > 0:
		return decimalOf(a.Precision, a.Scale, power10(a.Precision)), true
	}
	return integerValue(64), true
}

var integerBits = map[string]int{"TINYINT": 8, "SMALLINT": 16, "INTEGER": 32, "BIGINT": 64}

func numberValue(v *sqltree.Node) (provenValue, error) {
	digits, _ := v.Get("value").(sqltree.Number)
	n, ok := new(big.Int).SetString(string(digits), 10)
	typ := v.Child("type")
	if !ok {
		return provenValue{}, doubt("a constant number")
	}
	if bits := integerBits[typ.Str("id")]; bits != 0 {
		least := leastBits(n)
		return provenValue{kind: kindInteger, bits: bits, bound: n.Abs(n), literal: true, least: least}, nil
	}
	width, okWidth := smallNumber(typ.Child("type_info").Get("width"))
	scale, okScale := smallNumber(typ.Child("type_info").Get("scale"))
	if !typ.Is("id", "DECIMAL") || !okWidth || !okScale {
		return provenValue{}, doubtf("a constant of type %s", typ.Str("id"))
	}
	out := decimalOf(width, scale, n.Abs(n))
	out.literal = true
	return out, nil
}

// leastBits is the size of the smallest integer type that holds n.
func leastBits(n *big.Int) int {
	for bits := 8; bits < 64; bits *= 2 {
		if constant.InRange(n, bits-1) {
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

// cast allows the casts of the list, and constants of date and time.
func (p *prover) cast(n *sqltree.Node, at spot) (provenValue, error) {
	if lit, ok := sqltree.LiteralOf(n); ok && (lit.Family == sqltree.Date || lit.Family == sqltree.Timestamp) {
		if lit.Family == sqltree.Date {
			return provenValue{kind: kindDate}, unless(constant.IsDate(lit.Text), "a date in another form")
		}
		_, strict := constant.AsTimestamp(lit.Text)
		return provenValue{kind: kindTimestamp}, unless(strict, "a timestamp in another form")
	}
	from, err := p.expr(n.Child("child"), at)
	if err != nil {
		return from, err
	}
	to, known := columnValueOf(n.Child("cast_type").Str("id"))
	if n.Flag("try_cast") || !known || !p.list.has("cast", string(from.kind)+" "+string(to.kind)) {
		return to, doubtf("a cast to %s", n.Child("cast_type").Str("id"))
	}
	if to.kind == kindInteger && from.bits > to.bits {
		return to, doubt("a cast to a narrower integer")
	}
	if to.number() {
		to.bound = from.bound
	}
	to.fallible = from.fallible
	return to, nil
}

func unless(ok bool, reason string) error {
	if ok {
		return nil
	}
	return doubt(reason)
}

// comparison proves that values have a common type, to which they go without
// fail. A constant text stands for a date or time beside one.
func (p *prover) comparison(at spot, nodes ...*sqltree.Node) (provenValue, error) {
	all := provenValue{kind: kindNull}
	for _, n := range nodes {
		v, err := p.expr(n, at)
		if err != nil {
			return v, err
		}
		if v.kind == kindText && p.constant(n) && all.kind != kindNull && all.kind != kindText {
			if !p.standsFor(n, all) {
				return v, doubtf("a text beside a %s", all.kind)
			}
			continue
		}
		both, ok := common(all, v)
		if !ok {
			return v, doubtf("comparing %s and %s", all.kind, v.kind)
		}
		all = both
	}
	return provenValue{kind: kindBoolean, fallible: all.fallible}, nil
}

// constant says that the engine finds the type of n from what it stands beside.
func (p *prover) constant(n *sqltree.Node) bool {
	return n.Is("class", "CONSTANT") || n.Is("class", "PARAMETER")
}

// standsFor says that a constant text is one of the values beside it. Of an
// argument that follows from its kind.
func (p *prover) standsFor(n *sqltree.Node, beside provenValue) bool {
	if n.Is("class", "PARAMETER") {
		_, ok := p.args.Of(n).ConstantFor(beside.engineColumn())
		return ok
	}
	_, ok := constant.For(beside.engineColumn(), n)
	return ok
}

func (p *prover) operator(n *sqltree.Node, at spot) (provenValue, error) {
	children := n.List("children")
	args := make([]*sqltree.Node, len(children))
	for i, c := range children {
		args[i] = c.(*sqltree.Node)
	}
	switch n.Str("type") {
	case "OPERATOR_NOT":
		return provenValue{kind: kindBoolean}, p.condition(args[0], at)
	case "OPERATOR_IS_NULL", "OPERATOR_IS_NOT_NULL":
		v, err := p.expr(args[0], at)
		return provenValue{kind: kindBoolean, fallible: v.fallible}, err
	case "COMPARE_IN", "COMPARE_NOT_IN":
		for _, a := range args[1:] {
			if _, constant := sqltree.LiteralOf(a); !constant && !a.Is("class", "PARAMETER") {
				return provenValue{}, doubt("IN of something that is no constant")
			}
		}
		return p.comparison(at, args...)
	case "OPERATOR_COALESCE":
		return p.unified(at, args...)
	}
	return provenValue{}, doubtf("%s is not listed", n.Str("type"))
}

func (p *prover) alternatives(n *sqltree.Node, at spot) (provenValue, error) {
	// The engine finds the common type from ELSE on, which matters to literals.
	results := []*sqltree.Node{n.Child("else_expr")}
	fallible := false
	for _, c := range n.List("case_checks") {
		check := c.(*sqltree.Node)
		when, err := p.expr(check.Child("when_expr"), at)
		if err != nil {
			return when, err
		}
		if when.kind != kindBoolean {
			return when, doubtf("%s as a condition", when.kind)
		}
		fallible = fallible || when.fallible
		results = append(results, check.Child("then_expr"))
	}
	v, err := p.unified(at, results...)
	v.fallible = v.fallible || fallible
	return v, err
}

// unified is the common type of alternatives.
func (p *prover) unified(at spot, nodes ...*sqltree.Node) (provenValue, error) {
	all := provenValue{kind: kindNull}
	for _, n := range nodes {
		v, err := p.expr(n, at)
		if err != nil {
			return v, err
		}
		both, ok := common(all, v)
		if !ok {
			return v, doubtf("%s and %s as alternatives", all.kind, v.kind)
		}
		all = both
	}
	return all, nil
}
