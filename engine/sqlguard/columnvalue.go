package sqlguard

import (
	"math/big"
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
)

// columnValue is a constant of exactly a column's type.
type columnValue struct {
	// sql is the constant as a literal.
	sql string
	// text is the constant for pruning; types without one lack it.
	text    engine.ConditionValue
	hasText bool
	// instant says that text is a time in UTC, which it does not say itself.
	instant bool
}

// bound is the constant as a text that casts to the column's type.
func (v columnValue) bound() string {
	if v.instant {
		return string(v.text) + "+00"
	}
	return string(v.text)
}

func valueOf(sql, text string) columnValue {
	return columnValue{sql: sql, text: engine.ConditionValue(text), hasText: true}
}

// intBits gives the range of the integer types; unsigned ones are negative.
var intBits = map[string]int{
	"TINYINT": 7, "SMALLINT": 15, "INTEGER": 31, "BIGINT": 63,
	"UTINYINT": -8, "USMALLINT": -16, "UINTEGER": -32, "UBIGINT": -64,
}

// constantFor reads e as a constant of exactly the column's type, or reports
// that it is none.
func constantFor(col engine.Column, e *node) (columnValue, bool) {
	lit, ok := constantOf(e)
	if !ok {
		return columnValue{}, false
	}
	return literalFor(col, lit, e.is("class", "CONSTANT"))
}

// literalFor is constantFor of a literal; bare says that no cast stands over it.
func literalFor(col engine.Column, lit literal, bare bool) (columnValue, bool) {
	typ := col.Type
	switch {
	case intBits[typ] != 0:
		v, isInt := new(big.Int).SetString(lit.text, 10)
		if lit.family != litNumber || !isInt || !inRange(v, intBits[typ]) {
			return columnValue{}, false
		}
		return valueOf("CAST('"+v.String()+"' AS "+typ+")", v.String()), true
	case typ == "DOUBLE":
		return columnValue{sql: "CAST(" + lit.text + " AS DOUBLE)"}, lit.family == litNumber
	case strings.HasPrefix(typ, "DECIMAL("):
		return decimalValue(typ, lit)
	case typ == "VARCHAR":
		return valueOf(engine.QuoteString(lit.text), lit.text), lit.family == litText && bare
	case typ == "BOOLEAN":
		word := map[string]string{"t": "true", "f": "false", "true": "true", "false": "false"}[lit.text]
		return valueOf(word, word), lit.family == litBool && word != ""
	case typ == "DATE":
		okFamily := lit.family == litDate || lit.family == litText && bare
		return valueOf("DATE '"+lit.text+"'", lit.text), okFamily && strictDate(lit.text)
	case typ == "TIMESTAMP":
		okFamily := lit.family == litDate || lit.family == litTimestamp || lit.family == litText && bare
		ts, ok := strictTimestamp(lit.text)
		if lit.family == litDate && !strictDate(lit.text) {
			return columnValue{}, false
		}
		return valueOf("TIMESTAMP '"+ts+"'", ts), ok && okFamily
	case typ == "TIMESTAMP WITH TIME ZONE":
		return instantValue(lit, bare)
	}
	return columnValue{}, false
}

// instantValue is a point in time. Without an offset it means what it means in
// the statement: a time of the session's zone, which is UTC in every session.
func instantValue(lit literal, bare bool) (columnValue, bool) {
	switch {
	case lit.family == litDate && !strictDate(lit.text):
		return columnValue{}, false
	case lit.family == litText && bare, lit.family == litDate, lit.family == litTimestamp, lit.family == litTimestampTZ:
	default:
		return columnValue{}, false
	}
	text, ok := strictTimestamp(lit.text)
	if !ok && lit.family != litTimestamp {
		text, ok = strictInstant(lit.text)
	}
	return valueOf("CAST('"+text+"' AS TIMESTAMP WITH TIME ZONE)", strings.TrimSuffix(text, "+00")), ok
}

func inRange(v *big.Int, bits int) bool {
	if bits < 0 {
		return v.Sign() >= 0 && v.BitLen() <= -bits
	}
	if v.Sign() < 0 {
		v = new(big.Int).Not(v) // -2^n fits, as 2^n-1 does
	}
	return v.BitLen() <= bits
}

// decimalValue is a number that a DECIMAL(p,s) holds exactly.
func decimalValue(typ string, lit literal) (columnValue, bool) {
	width, scale, ok := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(typ, "DECIMAL("), ")"), ",")
	p, errP := strconv.Atoi(strings.TrimSpace(width))
	s, errS := strconv.Atoi(strings.TrimSpace(scale))
	if !ok || errP != nil || errS != nil || lit.family != litNumber {
		return columnValue{}, false
	}
	whole, frac, _ := strings.Cut(strings.TrimPrefix(lit.text, "-"), ".")
	whole, frac = strings.TrimLeft(whole, "0"), strings.TrimRight(frac, "0")
	if len(whole) > p-s || len(frac) > s {
		return columnValue{}, false
	}
	return valueOf("CAST('"+lit.text+"' AS "+typ+")", lit.text), true
}
