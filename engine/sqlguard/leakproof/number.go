package leakproof

import "math/big"

// maxRows bounds the number of values of one aggregate: more than the engine can process in
// days.
var maxRows = power10(14)

// maxHuge is the range of the engine's sums.
var maxHuge = new(big.Int).Lsh(big.NewInt(1), 127)

// maxDouble is far inside the range of DOUBLE.
var maxDouble = power10(290)

// arithmetic returns the value of an operator on two numbers, with the result type of the
// engine.
func arithmetic(op string, a, b value) (value, bool) {
	var out value
	switch {
	case !a.number() || !b.number():
		return out, false
	case op == "/":
		// Only the range may be exceeded: division by zero is NULL.
		return value{kind: kindDouble, fallible: true}, true
	case a.kind == kindDouble || b.kind == kindDouble:
		return doubleArithmetic(op, a, b)
	case a.kind == kindInteger && b.kind == kindInteger:
		out = integerArithmetic(op, a, b)
	default:
		x, okX := a.asDecimal()
		y, okY := b.asDecimal()
		if !okX || !okY || op == "*" && x.scale+y.scale > widest {
			return out, false
		}
		out = decimalArithmetic(op, x, y)
	}
	out.fallible = out.fallible || a.fallible || b.fallible
	return out, true
}

func doubleArithmetic(op string, a, b value) (value, bool) {
	out := value{kind: kindDouble, fallible: a.fallible || b.fallible}
	if a.bound == nil || b.bound == nil {
		out.fallible = true
		return out, true
	}
	// A DECIMAL's bound counts its fraction too, which makes it only larger.
	if op == "*" {
		out.bound = new(big.Int).Mul(a.bound, b.bound)
	} else {
		out.bound = new(big.Int).Add(a.bound, b.bound)
	}
	if out.bound.Cmp(maxDouble) > 0 {
		out.bound, out.fallible = nil, true
	}
	return out, true
}

func integerArithmetic(op string, a, b value) value {
	bound := new(big.Int).Add(a.bound, b.bound)
	if op == "*" {
		bound = new(big.Int).Mul(a.bound, b.bound)
	}
	out := integerValue(integerBitsOf(a, b))
	if bound.Cmp(out.bound) < 0 {
		out.bound = bound
	} else {
		out.fallible = true
	}
	return out
}

// decimalArithmetic follows the engine's rules of result types: a result that
// needs more than 64 bits gets them only if an argument has them already.
func decimalArithmetic(op string, a, b value) value {
	wide := max(a.width, b.width) > maxNarrow
	scale, width := max(a.scale, b.scale), 0
	var bound *big.Int
	if op == "*" {
		scale, width = a.scale+b.scale, a.width+b.width
		wide = wide || scale >= maxNarrow
		bound = new(big.Int).Mul(a.bound, b.bound)
	} else {
		width = max(a.width-a.scale, b.width-b.scale) + scale + 1
		bound = new(big.Int).Add(rescaled(a, scale), rescaled(b, scale))
	}
	if width > maxNarrow && !wide {
		width = maxNarrow
	}
	width = min(width, widest)
	out := decimalOf(width, scale, bound)
	out.fallible = bound.Cmp(power10(width)) >= 0
	return out
}

// aggregated returns the value of an aggregate over values v. The listed aggregates do not
// depend on the order of rows: they sum only integers and decimals, within bounds that no
// partial sum can exceed.
func aggregated(name string, v value) (value, string) {
	v.literal, v.fallible = false, false
	switch name {
	case "count":
		return integerValue(64), ""
	case "min", "max":
		if !v.exact() {
			return v, "the least and greatest of equal doubles depend on their order"
		}
		return v, ""
	}
	if v.kind != kindInteger && v.kind != kindDecimal {
		return v, "a sum of " + string(v.kind) + " depends on the order of rows"
	}
	total := new(big.Int).Mul(v.bound, maxRows)
	if total.Cmp(maxHuge) >= 0 {
		return v, "a part of the sum may pass its range"
	}
	switch {
	case name == "avg":
		return value{kind: kindDouble, bound: v.bound}, ""
	case v.kind == kindInteger:
		out := integerValue(128)
		out.bound = total
		return out, ""
	}
	return decimalOf(widest, v.scale, total), ""
}
