package leakproof

import (
	"math/big"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// kind is a family of types that proofs distinguish. A type without a kind takes no part in
// proofs.
type kind string

const (
	kindNull      kind = "null"
	kindBoolean   kind = "boolean"
	kindInteger   kind = "integer"
	kindDecimal   kind = "decimal"
	kindDouble    kind = "double"
	kindText      kind = "text"
	kindBinary    kind = "binary"
	kindDate      kind = "date"
	kindTimestamp kind = "timestamp"
	kindInstant   kind = "instant"
)

// value is what is known of the values of an expression.
type value struct {
	kind kind
	// bits is the size of an integer, including the sign.
	bits int
	// width and scale are those of a DECIMAL.
	width, scale int
	// bound is the largest magnitude, for a DECIMAL that of the unscaled integer. A DOUBLE
	// without a bound may have any value.
	bound *big.Int
	// literal reports that the value is a number of the statement. least is the size of the
	// smallest integer type that holds it.
	literal bool
	least   int
	// fallible reports that computing the value may fail on rows that the caller sees. The
	// engine knows this too, and does not compute it for other rows.
	fallible bool
}

// exact reports whether equal values are the same bytes. For doubles they are not, because
// of negative zero.
func (v value) exact() bool { return v.kind != kindDouble }

func (v value) number() bool {
	return v.kind == kindInteger || v.kind == kindDecimal || v.kind == kindDouble
}

var columnKinds = map[sqltype.Scalar]value{
	sqltype.Boolean: {kind: kindBoolean}, sqltype.Varchar: {kind: kindText}, sqltype.Blob: {kind: kindBinary}, sqltype.Date: {kind: kindDate},
	sqltype.Timestamp: {kind: kindTimestamp}, sqltype.TimestampTZ: {kind: kindInstant}, sqltype.Double: {kind: kindDouble},
	sqltype.TinyInt: integerValue(8), sqltype.SmallInt: integerValue(16), sqltype.Integer: integerValue(32), sqltype.BigInt: integerValue(64),
}

// columnValueOf is what is known of a column of a type. The others are left to
// copies: FLOAT, HUGEINT, intervals and everything nested.
func columnValueOf(typ sqltype.Type) (value, bool) {
	switch t := typ.(type) {
	case sqltype.Scalar:
		v, ok := columnKinds[t]
		return v, ok
	case sqltype.Decimal:
		return decimalOf(t.Precision, t.Scale, power10(t.Precision)), true
	}
	return value{}, false
}

// Covers reports whether a proof can cover operations on columns of a type.
func Covers(typ sqltype.Type) bool {
	_, known := columnValueOf(typ)
	return known
}

// sqlType returns the engine's type of the value, or nil.
func (v value) sqlType() sqltype.Type {
	switch {
	case v.kind == kindDecimal:
		return sqltype.Decimal{Precision: v.width, Scale: v.scale}
	case v.kind == kindInteger && v.bits == 128:
		return sqltype.HugeInt
	}
	for typ, c := range columnKinds {
		if c.kind == v.kind && c.bits == v.bits {
			return typ
		}
	}
	return nil
}

func integerValue(bits int) value {
	return value{kind: kindInteger, bits: bits, bound: new(big.Int).Lsh(big.NewInt(1), uint(bits-1))} //nolint:gosec // bits is small
}

func decimalOf(width, scale int, bound *big.Int) value {
	return value{kind: kindDecimal, width: width, scale: scale, bound: smaller(bound, power10(width))}
}

func power10(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

func smaller(a, b *big.Int) *big.Int {
	if a.Cmp(b) < 0 {
		return a
	}
	return b
}

func larger(a, b *big.Int) *big.Int {
	if a.Cmp(b) > 0 {
		return a
	}
	return b
}

// The engine's largest width of a DECIMAL, and its largest width of a DECIMAL in 64 bits.
const (
	widest    = 38
	maxNarrow = 18
)

// asDecimal returns a number as the DECIMAL to which the engine converts it next to a
// DECIMAL.
func (v value) asDecimal() (value, bool) {
	switch {
	case v.kind == kindDecimal:
		return v, true
	case v.kind == kindInteger && v.bits <= 64:
		out := v
		out.kind, out.width, out.scale = kindDecimal, map[int]int{8: 3, 16: 5, 32: 10, 64: 19}[v.bits], 0
		return out, true
	}
	return value{}, false
}

// common returns the type to which two values are converted in a comparison or as
// alternatives of one expression. It is known only if that type holds every value of both.
func common(a, b value) (value, bool) {
	out := a
	out.literal, out.fallible = false, a.fallible || b.fallible
	switch {
	case a.kind == kindNull:
		b.fallible = out.fallible
		return b, true
	case b.kind == kindNull:
		return out, true
	case !a.number() || !b.number():
		return out, a.kind == b.kind
	case a.kind == kindDouble || b.kind == kindDouble:
		out.kind, out.bound = kindDouble, nil
		if a.bound != nil && b.bound != nil {
			out.bound = larger(a.bound, b.bound)
		}
		return out, true
	case a.kind == kindInteger && b.kind == kindInteger:
		out.bits, out.bound = integerBitsOf(a, b), larger(a.bound, b.bound)
		return out, true
	}
	x, okX := a.asDecimal()
	y, okY := b.asDecimal()
	scale := max(x.scale, y.scale)
	width := max(x.width-x.scale, y.width-y.scale) + scale
	if !okX || !okY || width > widest {
		return value{}, false
	}
	bound := larger(rescaled(x, scale), rescaled(y, scale))
	both := decimalOf(width, scale, bound)
	both.fallible = out.fallible
	return both, true
}

// integerBitsOf returns the size of the integers to which two integers are converted: the
// larger size, but a literal takes the type of the other value if it fits.
func integerBitsOf(a, b value) int {
	if b.literal {
		a, b = b, a
	}
	if a.literal && !b.literal && a.least <= b.bits {
		return b.bits
	}
	return max(a.bits, b.bits)
}

func rescaled(v value, scale int) *big.Int {
	return new(big.Int).Mul(v.bound, power10(scale-v.scale))
}

// engineColumn returns a column of the value's type, for reading constants.
func (v value) engineColumn() engine.Column { return engine.Column{Type: v.sqlType()} }
