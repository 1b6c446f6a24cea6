package constraint

import (
	"math/big"
	"strconv"

	"github.com/lakewarden/lakewarden/engine/delta"
)

// pair makes two operands comparable, and returns the reason if Spark would compare them
// differently. It converts constants to the type of the other side if that does not change their
// value; constant texts become dates and times.
func (b builder) pair(l, r *expr) (*expr, *expr, string, error) {
	lf, rf := familyOf(l.typ), familyOf(r.typ)
	switch {
	case lf == famNull || rf == famNull:
		return l, r, "a value is compared with NULL", nil
	case lf == rf:
		return b.alike(l, r, lf)
	case lf == famText && l.op == opLiteral:
		r, l, reason, err := b.pair(r, l)
		return l, r, reason, err
	case rf == famText && r.op == opLiteral:
		as, err := b.reread(r, l.typ)
		if err != nil {
			return nil, nil, "", err
		}
		return b.alike(l, as, lf)
	case numeric(lf) && numeric(rf):
		return b.numbers(l, r)
	case lf == famDate && rf == famLocal || lf == famLocal && rf == famDate:
		if b.spark {
			break
		}
		return l, r, "a date is compared with a time", nil
	}
	return nil, nil, "", invalid("%s is compared with %s", typeName(l.typ), typeName(r.typ))
}

func either(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// alike compares two operands of one family.
func (b builder) alike(l, r *expr, f family) (*expr, *expr, string, error) {
	switch f {
	case famOther, famBinary:
		if b.spark {
			return nil, nil, "", invalid("values of type %s are compared", typeName(l.typ))
		}
		return l, r, "values of type " + typeName(l.typ) + " are compared", nil
	case famLocal:
		return l, r, "a time without time zone is compared", nil
	case famDecimal:
		if digits(l.typ, r.typ) > maxDigits {
			return nil, nil, "", invalid("%s is compared with %s", typeName(l.typ), typeName(r.typ))
		}
	}
	return l, r, "", nil
}

func numeric(f family) bool {
	return f == famInt || f == famDecimal || f == famFloat || f == famDouble
}

// numbers compares operands of two numeric families.
func (b builder) numbers(l, r *expr) (*expr, *expr, string, error) {
	lf, rf := familyOf(l.typ), familyOf(r.typ)
	switch {
	case lf == famFloat || rf == famFloat:
		return b.floats(l, r)
	case lf == famDouble:
		r, reason := b.asDouble(r)
		return l, r, reason, nil
	case rf == famDouble:
		l, reason := b.asDouble(l)
		return l, r, reason, nil
	}
	if digits(asDecimal(l), asDecimal(r)) > maxDigits {
		return nil, nil, "", invalid("%s is compared with %s", typeName(l.typ), typeName(r.typ))
	}
	return l, r, "", nil
}

// asDouble converts the other operand of a DOUBLE.
func (b builder) asDouble(e *expr) (*expr, string) {
	if e.op == opLiteral {
		return &expr{op: opLiteral, typ: delta.Double, text: e.text}, ""
	}
	if familyOf(e.typ) == famDecimal {
		return e, "a decimal is compared with a double"
	}
	return e, ""
}

// floats compares a FLOAT with another number. Spark compares them as doubles, DuckDB as floats.
// The result is the same for constants that a float represents exactly.
func (b builder) floats(l, r *expr) (*expr, *expr, string, error) {
	if exactFloat(l) || exactFloat(r) {
		return l, r, "", nil
	}
	if b.spark {
		return b.toDouble(l), b.toDouble(r), "", nil
	}
	return l, r, "a FLOAT is compared with another type", nil
}

func (b builder) toDouble(e *expr) *expr {
	if e.op == opLiteral {
		return &expr{op: opLiteral, typ: delta.Double, text: e.text}
	}
	if familyOf(e.typ) == famDouble {
		return e
	}
	return &expr{op: opCast, typ: delta.Double, args: []*expr{e}}
}

func exactFloat(e *expr) bool {
	if e.op != opLiteral {
		return false
	}
	exact, ok := new(big.Rat).SetString(e.text)
	short, err := strconv.ParseFloat(e.text, 32)
	return ok && err == nil && new(big.Rat).SetFloat64(short).Cmp(exact) == 0
}

const maxDigits = 38

// asDecimal returns a number's type as a decimal.
func asDecimal(e *expr) delta.Decimal {
	switch t := e.typ.(type) {
	case delta.Decimal:
		return t
	case delta.Primitive:
		switch t {
		case delta.Byte:
			return delta.Decimal{Precision: 3}
		case delta.Short:
			return delta.Decimal{Precision: 5}
		case delta.Integer:
			return delta.Decimal{Precision: 10}
		}
	}
	return delta.Decimal{Precision: 20}
}

// digits returns the precision that holds the values of both types.
func digits(l, r delta.DataType) int {
	a, b := l.(delta.Decimal), r.(delta.Decimal)
	return max(a.Precision-a.Scale, b.Precision-b.Scale) + max(a.Scale, b.Scale)
}

// arith makes the operations + - * % / //.
func (b builder) arith(text string, l, r *expr) (*expr, error) {
	lf, rf := familyOf(l.typ), familyOf(r.typ)
	e := &expr{op: opArith, text: text, args: []*expr{l, r}}
	switch {
	case lf == famNull || rf == famNull:
		return nil, invalid("NULL in a calculation")
	case lf == famDate && rf == famInt && (text == "+" || text == "-") && !b.spark:
		e.typ = delta.Date
		return b.note(e, "days are added to a date"), nil
	case !numeric(lf) || !numeric(rf):
		return nil, invalid("%s %s %s", typeName(l.typ), text, typeName(r.typ))
	case text == "/" || text == "//":
		if b.spark {
			return nil, invalid("a division")
		}
		e.typ = delta.Double
		if text == "//" {
			e.typ = l.typ
		}
		return b.note(e, "a division"), nil
	case text == "%":
		return b.modulo(e)
	case lf == famFloat || rf == famFloat:
		if b.spark {
			return nil, invalid("a calculation with FLOAT")
		}
		e.typ = delta.Double
		return b.note(e, "a calculation with FLOAT"), nil
	case lf == famInt && rf == famInt:
		e.typ = wider(l.typ, r.typ)
		return e, nil
	case lf == famDouble || rf == famDouble:
		return b.doubles(e)
	}
	return b.decimals(e)
}

func (b builder) doubles(e *expr) (*expr, error) {
	e.typ = delta.Double
	for i, a := range e.args {
		as, reason := b.asDouble(a)
		if reason != "" && b.spark {
			as, reason = b.toDouble(a), ""
		}
		e.args[i] = as
		if reason != "" {
			e = b.note(e, reason)
		}
	}
	return e, nil
}

func (b builder) decimals(e *expr) (*expr, error) {
	l, r := asDecimal(e.args[0]), asDecimal(e.args[1])
	t := delta.Decimal{Precision: max(l.Precision-l.Scale, r.Precision-r.Scale) + max(l.Scale, r.Scale) + 1, Scale: max(l.Scale, r.Scale)}
	if e.text == "*" {
		t = delta.Decimal{Precision: l.Precision + r.Precision + 1, Scale: l.Scale + r.Scale}
	}
	if t.Precision > maxDigits {
		return nil, invalid("%s %s %s can have more than %d digits", typeName(e.args[0].typ), e.text, typeName(e.args[1].typ), maxDigits)
	}
	e.typ = t
	return e, nil
}

// modulo makes %, which cannot fail if the divisor is a constant other than zero.
func (b builder) modulo(e *expr) (*expr, error) {
	l, r := e.args[0], e.args[1]
	if familyOf(l.typ) != famInt || familyOf(r.typ) != famInt {
		return nil, invalid("%s %% %s", typeName(l.typ), typeName(r.typ))
	}
	e.typ = wider(l.typ, r.typ)
	if n, err := strconv.ParseInt(r.text, 10, 64); r.op != opLiteral || err != nil || n == 0 {
		if b.spark {
			return nil, invalid("%% by what may be zero")
		}
		e = b.note(e, "% by what may be zero")
	}
	return e, nil
}

func (b builder) negate(arg *expr) (*expr, error) {
	if !numeric(familyOf(arg.typ)) {
		return nil, invalid("- %s", typeName(arg.typ))
	}
	if arg.op == opLiteral && arg.text[0] != '-' {
		as := *arg
		as.text = "-" + arg.text
		return &as, nil
	}
	return &expr{op: opNegate, typ: arg.typ, args: []*expr{arg}}, nil
}
