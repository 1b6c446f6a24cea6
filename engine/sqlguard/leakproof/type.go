package leakproof

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
)

// valueKind is a family of types that the proof tells apart. A type of no kind
// takes no part in it.
type valueKind string

const (
	kindNull      valueKind = "null"
	kindBoolean   valueKind = "boolean"
	kindInteger   valueKind = "integer"
	kindDecimal   valueKind = "decimal"
	kindDouble    valueKind = "double"
	kindText      valueKind = "text"
	kindBinary    valueKind = "binary"
	kindDate      valueKind = "date"
	kindTimestamp valueKind = "timestamp"
	kindInstant   valueKind = "instant"
)

// provenValue is what the proof knows of an expression's values.
type provenValue struct {
	kind valueKind
	// bits is the size of an integer, sign included.
	bits int
	// width and scale are those of a DECIMAL.
	width, scale int
	// Bound is the largest magnitude: of a DECIMAL without its point. A DOUBLE
	// without one may be anything.
	bound *big.Int
	// Literal says that it is a number of the statement, least the size of the
	// smallest integer type that holds it.
	literal bool
	least   int
	// fallible says that computing it may fail on rows that the caller sees. The
	// engine knows that, and does not compute it for others.
	fallible bool
}

// exact says that equal values are the same bytes. Of doubles that does not
// hold, because of negative zero.
func (v provenValue) exact() bool { return v.kind != kindDouble }

func (v provenValue) number() bool {
	return v.kind == kindInteger || v.kind == kindDecimal || v.kind == kindDouble
}

var columnKinds = map[string]provenValue{
	"BOOLEAN": {kind: kindBoolean}, "VARCHAR": {kind: kindText}, "BLOB": {kind: kindBinary}, "DATE": {kind: kindDate},
	"TIMESTAMP": {kind: kindTimestamp}, "TIMESTAMP WITH TIME ZONE": {kind: kindInstant}, "DOUBLE": {kind: kindDouble},
	"TINYINT": integerValue(8), "SMALLINT": integerValue(16), "INTEGER": integerValue(32), "BIGINT": integerValue(64),
}

// columnValueOf is what is known of a column of a type. The others are left to
// copies: FLOAT, HUGEINT, intervals and everything nested.
func columnValueOf(typ string) (provenValue, bool) {
	if v, ok := columnKinds[typ]; ok {
		return v, true
	}
	var width, scale int
	if n, err := fmt.Sscanf(strings.ReplaceAll(typ, " ", ""), "DECIMAL(%d,%d)", &width, &scale); err == nil && n == 2 {
		return decimalOf(width, scale, power10(width)), true
	}
	return provenValue{}, false
}

// Covers reports whether a proof can cover operations on columns of a type.
func Covers(typ string) bool {
	_, known := columnValueOf(typ)
	return known
}

// sqlType is the engine's name of the type, or empty.
func (v provenValue) sqlType() string {
	switch v.kind {
	case kindInteger:
		return map[int]string{8: "TINYINT", 16: "SMALLINT", 32: "INTEGER", 64: "BIGINT", 128: "HUGEINT"}[v.bits]
	case kindDecimal:
		return "DECIMAL(" + strconv.Itoa(v.width) + "," + strconv.Itoa(v.scale) + ")"
	}
	for name, c := range columnKinds {
		if c.kind == v.kind {
			return name
		}
	}
	return ""
}

func integerValue(bits int) provenValue {
	return provenValue{kind: kindInteger, bits: bits, bound: new(big.Int).Lsh(big.NewInt(1), uint(bits-1))} //nolint:gosec // bits is small
}

func decimalOf(width, scale int, bound *big.Int) provenValue {
	return provenValue{kind: kindDecimal, width: width, scale: scale, bound: smaller(bound, power10(width))}
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

// The engine's largest width of a DECIMAL, and the largest that it keeps in 64 bits.
const (
	widest    = 38
	maxNarrow = 18
)

// asDecimal reads an integer as the DECIMAL that the engine makes of it beside
// a DECIMAL.
func (v provenValue) asDecimal() (provenValue, bool) {
	switch {
	case v.kind == kindDecimal:
		return v, true
	case v.kind == kindInteger && v.bits <= 64:
		out := v
		out.kind, out.width, out.scale = kindDecimal, map[int]int{8: 3, 16: 5, 32: 10, 64: 19}[v.bits], 0
		return out, true
	}
	return provenValue{}, false
}

// common is the type that both of two values are taken to when they are
// compared or are alternatives of one expression. It is known only where every
// value of both types has a place in it.
func common(a, b provenValue) (provenValue, bool) {
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
		return provenValue{}, false
	}
	bound := larger(rescaled(x, scale), rescaled(y, scale))
	both := decimalOf(width, scale, bound)
	both.fallible = out.fallible
	return both, true
}

// integerBitsOf is the size of the integers that two are taken to: the larger
// one, but a literal beside something else takes the type of that if it fits.
func integerBitsOf(a, b provenValue) int {
	if b.literal {
		a, b = b, a
	}
	if a.literal && !b.literal && a.least <= b.bits {
		return b.bits
	}
	return max(a.bits, b.bits)
}

func rescaled(v provenValue, scale int) *big.Int {
	return new(big.Int).Mul(v.bound, power10(scale-v.scale))
}

// engineColumn is a column of the value's type, for reading constants.
func (v provenValue) engineColumn() engine.Column { return engine.Column{Type: v.sqlType()} }
