package constant

import (
	"math/big"
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqltree"
)

// Value is a constant of exactly a column's type.
type Value struct {
	// SQL is the constant as a literal.
	SQL string
	// Text is the constant for pruning, if HasText.
	Text    engine.ConditionValue
	HasText bool
	// instant reports whether Text is in UTC without saying so.
	instant bool
}

// Bound returns the constant as a text that casts to the column's type.
func (v Value) Bound() string {
	if v.instant {
		return string(v.Text) + "+00"
	}
	return string(v.Text)
}

func valueOf(sql, text string) Value {
	return Value{SQL: sql, Text: engine.ConditionValue(text), HasText: true}
}

// intBits maps the integer types to their bits without sign; those of unsigned types are
// negative.
var intBits = map[string]int{
	"TINYINT": 7, "SMALLINT": 15, "INTEGER": 31, "BIGINT": 63,
	"UTINYINT": -8, "USMALLINT": -16, "UINTEGER": -32, "UBIGINT": -64,
}

// For returns e as a constant of exactly the column's type, or false if it is not one.
func For(col engine.Column, e *sqltree.Node) (Value, bool) {
	lit, ok := sqltree.LiteralOf(e)
	if !ok {
		return Value{}, false
	}
	return literalFor(col, lit, e.Is("class", "CONSTANT"))
}

// literalFor is [For] for a literal. bare reports that the literal has no cast.
func literalFor(col engine.Column, lit sqltree.Literal, bare bool) (Value, bool) {
	typ := col.Type
	switch {
	case intBits[typ] != 0:
		v, isInt := new(big.Int).SetString(lit.Text, 10)
		if lit.Family != sqltree.ExactNumber || !isInt || !InRange(v, intBits[typ]) {
			return Value{}, false
		}
		return valueOf("CAST('"+v.String()+"' AS "+typ+")", v.String()), true
	case typ == "DOUBLE":
		return Value{SQL: "CAST(" + lit.Text + " AS DOUBLE)"}, lit.Family == sqltree.ExactNumber
	case strings.HasPrefix(typ, "DECIMAL("):
		return decimalValue(typ, lit)
	case typ == "VARCHAR":
		return valueOf(engine.QuoteString(lit.Text), lit.Text), lit.Family == sqltree.TextLiteral && bare
	case typ == "BOOLEAN":
		word := map[string]string{"t": "true", "f": "false", "true": "true", "false": "false"}[lit.Text]
		return valueOf(word, word), lit.Family == sqltree.Boolean && word != ""
	case typ == "DATE":
		okFamily := lit.Family == sqltree.Date || lit.Family == sqltree.TextLiteral && bare
		return valueOf("DATE '"+lit.Text+"'", lit.Text), okFamily && IsDate(lit.Text)
	case typ == "TIMESTAMP":
		okFamily := lit.Family == sqltree.Date || lit.Family == sqltree.Timestamp || lit.Family == sqltree.TextLiteral && bare
		ts, ok := AsTimestamp(lit.Text)
		if lit.Family == sqltree.Date && !IsDate(lit.Text) {
			return Value{}, false
		}
		return valueOf("TIMESTAMP '"+ts+"'", ts), ok && okFamily
	case typ == "TIMESTAMP WITH TIME ZONE":
		return instantValue(lit, bare)
	}
	return Value{}, false
}

// instantValue returns a point in time. Without an offset it is a time of the session's
// zone, which is UTC in every session.
func instantValue(lit sqltree.Literal, bare bool) (Value, bool) {
	switch {
	case lit.Family == sqltree.Date && !IsDate(lit.Text):
		return Value{}, false
	case lit.Family == sqltree.TextLiteral && bare, lit.Family == sqltree.Date, lit.Family == sqltree.Timestamp, lit.Family == sqltree.Instant:
	default:
		return Value{}, false
	}
	text, ok := AsTimestamp(lit.Text)
	if !ok && lit.Family != sqltree.Timestamp {
		text, ok = strictInstant(lit.Text)
	}
	return valueOf("CAST('"+text+"' AS TIMESTAMP WITH TIME ZONE)", strings.TrimSuffix(text, "+00")), ok
}

// InRange reports whether v fits an integer type with the given bits without sign;
// bits of unsigned types are negative.
func InRange(v *big.Int, bits int) bool {
	if bits < 0 {
		return v.Sign() >= 0 && v.BitLen() <= -bits
	}
	if v.Sign() < 0 {
		v = new(big.Int).Not(v) // -2^n fits, as 2^n-1 does
	}
	return v.BitLen() <= bits
}

// decimalValue returns a number that typ, a DECIMAL(p,s), holds exactly.
func decimalValue(typ string, lit sqltree.Literal) (Value, bool) {
	width, scale, ok := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(typ, "DECIMAL("), ")"), ",")
	p, errP := strconv.Atoi(strings.TrimSpace(width))
	s, errS := strconv.Atoi(strings.TrimSpace(scale))
	if !ok || errP != nil || errS != nil || lit.Family != sqltree.ExactNumber {
		return Value{}, false
	}
	whole, frac, _ := strings.Cut(strings.TrimPrefix(lit.Text, "-"), ".")
	whole, frac = strings.TrimLeft(whole, "0"), strings.TrimRight(frac, "0")
	if len(whole) > p-s || len(frac) > s {
		return Value{}, false
	}
	return valueOf("CAST('"+lit.Text+"' AS "+typ+")", lit.Text), true
}

// For returns the argument as a constant of exactly the column's type. For DOUBLE it
// returns false, because the engine rounds a text in another way than a number.
func (a Argument) For(col engine.Column) (Value, bool) {
	if !a.HasLiteral || col.Type == "DOUBLE" {
		return Value{}, false
	}
	v, ok := literalFor(col, a.Literal, true)
	v.instant = col.Type == "TIMESTAMP WITH TIME ZONE"
	return v, ok
}
