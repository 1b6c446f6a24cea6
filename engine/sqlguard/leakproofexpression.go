package sqlguard

import (
	"math/big"
	"strconv"
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
func (p *prover) total(n *node, at spot) (provenValue, error) {
	v, err := p.expr(n, at)
	if err == nil && v.fallible {
		err = doubtf("%s may fail", form(n))
	}
	return v, err
}

func form(n *node) string {
	if n.is("class", "FUNCTION") {
		return lower(n.str("function_name"))
	}
	return n.str("type")
}

// expr proves that an expression cannot fail on hidden rows.
func (p *prover) expr(n *node, at spot) (provenValue, error) {
	if !p.list.has("form", n.str("type")) {
		return provenValue{}, doubtf("%s is not listed", n.str("type"))
	}
	switch n.str("class") {
	case "COLUMN_REF":
		v, depth, err := at.scope.column(n)
		if err == nil && at.inside && depth > 0 {
			err = doubt("an aggregate of an outer column")
		}
		return v, err
	case "CONSTANT":
		return constantValue(n)
	case "PARAMETER":
		a := p.args.of(n)
		return a.proven, unless(a.known, "a parameter of a type that is not known")
	case "CAST":
		return p.cast(n, at)
	case "COMPARISON":
		return p.comparison(at, n.child("left"), n.child("right"))
	case "BETWEEN":
		return p.comparison(at, n.child("input"), n.child("lower"), n.child("upper"))
	case "CONJUNCTION":
		for _, c := range n.list("children") {
			if err := p.condition(c.(*node), at); err != nil {
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
	return provenValue{}, doubtf("%s is not listed", n.str("class"))
}

// condition proves a part of a condition.
func (p *prover) condition(n *node, at spot) error {
	v, err := p.total(n, at)
	if err == nil && v.kind != kindBoolean && v.kind != kindNull {
		err = doubtf("%s as a condition", v.kind)
	}
	return err
}

func constantValue(n *node) (provenValue, error) {
	v := n.child("value")
	if v.flag("is_null") {
		return provenValue{kind: kindNull}, nil
	}
	lit, ok := plainConstant(v)
	if !ok {
		return provenValue{}, doubtf("a constant of type %s", v.child("type").str("id"))
	}
	switch lit.family {
	case litText:
		return provenValue{kind: kindText}, nil
	case litBool:
		return provenValue{kind: kindBoolean}, nil
	case litNumber:
		return numberValue(v)
	}
	return provenValue{}, doubt("a constant of floating point")
}

var integerBits = map[string]int{"TINYINT": 8, "SMALLINT": 16, "INTEGER": 32, "BIGINT": 64}

func numberValue(v *node) (provenValue, error) {
	digits, _ := v.get("value").(number)
	n, ok := new(big.Int).SetString(string(digits), 10)
	typ := v.child("type")
	if !ok {
		return provenValue{}, doubt("a constant number")
	}
	if bits := integerBits[typ.str("id")]; bits != 0 {
		least := leastBits(n)
		return provenValue{kind: kindInteger, bits: bits, bound: n.Abs(n), literal: true, least: least}, nil
	}
	width, okWidth := smallNumber(typ.child("type_info").get("width"))
	scale, okScale := smallNumber(typ.child("type_info").get("scale"))
	if !typ.is("id", "DECIMAL") || !okWidth || !okScale {
		return provenValue{}, doubtf("a constant of type %s", typ.str("id"))
	}
	out := decimalOf(width, scale, n.Abs(n))
	out.literal = true
	return out, nil
}

// leastBits is the size of the smallest integer type that holds n.
func leastBits(n *big.Int) int {
	for bits := 8; bits < 64; bits *= 2 {
		if inRange(n, bits-1) {
			return bits
		}
	}
	return 64
}

func smallNumber(v any) (int, bool) {
	digits, _ := v.(number)
	n, err := strconv.Atoi(string(digits))
	return n, err == nil && n >= 0 && n <= maxDecimal
}

// cast allows the casts of the list, and constants of date and time.
func (p *prover) cast(n *node, at spot) (provenValue, error) {
	if lit, ok := constantOf(n); ok && (lit.family == litDate || lit.family == litTimestamp) {
		if lit.family == litDate {
			return provenValue{kind: kindDate}, unless(strictDate(lit.text), "a date in another form")
		}
		_, strict := strictTimestamp(lit.text)
		return provenValue{kind: kindTimestamp}, unless(strict, "a timestamp in another form")
	}
	from, err := p.expr(n.child("child"), at)
	if err != nil {
		return from, err
	}
	to, known := columnValueOf(n.child("cast_type").str("id"))
	if n.flag("try_cast") || !known || !p.list.has("cast", string(from.kind)+" "+string(to.kind)) {
		return to, doubtf("a cast to %s", n.child("cast_type").str("id"))
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
func (p *prover) comparison(at spot, nodes ...*node) (provenValue, error) {
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
func (p *prover) constant(n *node) bool {
	return n.is("class", "CONSTANT") || n.is("class", "PARAMETER")
}

// standsFor says that a constant text is one of the values beside it. Of an
// argument that follows from its kind.
func (p *prover) standsFor(n *node, beside provenValue) bool {
	if n.is("class", "PARAMETER") {
		_, ok := p.args.of(n).constantFor(beside.engineColumn())
		return ok
	}
	_, ok := constantFor(beside.engineColumn(), n)
	return ok
}

func (p *prover) operator(n *node, at spot) (provenValue, error) {
	children := n.list("children")
	args := make([]*node, len(children))
	for i, c := range children {
		args[i] = c.(*node)
	}
	switch n.str("type") {
	case "OPERATOR_NOT":
		return provenValue{kind: kindBoolean}, p.condition(args[0], at)
	case "OPERATOR_IS_NULL", "OPERATOR_IS_NOT_NULL":
		v, err := p.expr(args[0], at)
		return provenValue{kind: kindBoolean, fallible: v.fallible}, err
	case "COMPARE_IN", "COMPARE_NOT_IN":
		for _, a := range args[1:] {
			if _, constant := constantOf(a); !constant && !a.is("class", "PARAMETER") {
				return provenValue{}, doubt("IN of something that is no constant")
			}
		}
		return p.comparison(at, args...)
	case "OPERATOR_COALESCE":
		return p.unified(at, args...)
	}
	return provenValue{}, doubtf("%s is not listed", n.str("type"))
}

func (p *prover) alternatives(n *node, at spot) (provenValue, error) {
	// The engine finds the common type from ELSE on, which matters to literals.
	results := []*node{n.child("else_expr")}
	fallible := false
	for _, c := range n.list("case_checks") {
		check := c.(*node)
		when, err := p.expr(check.child("when_expr"), at)
		if err != nil {
			return when, err
		}
		if when.kind != kindBoolean {
			return when, doubtf("%s as a condition", when.kind)
		}
		fallible = fallible || when.fallible
		results = append(results, check.child("then_expr"))
	}
	v, err := p.unified(at, results...)
	v.fallible = v.fallible || fallible
	return v, err
}

// unified is the common type of alternatives.
func (p *prover) unified(at spot, nodes ...*node) (provenValue, error) {
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
