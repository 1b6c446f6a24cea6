package constant

import (
	"math/big"
	"strings"
	"time"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqltree"
	"github.com/lakewarden/lakewarden/engine/sqltype"
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

// For reads e as a constant of exactly the column's type, or reports
// that it is none.
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
	if d, ok := typ.(sqltype.Decimal); ok {
		return decimalValue(d, lit)
	}
	if bits, signed := sqltype.IntegerBits(typ); bits != 0 && bits <= 64 {
		v, isInt := new(big.Int).SetString(lit.Text, 10)
		if lit.Family != sqltree.ExactNumber || !isInt || !InRange(v, bits, signed) {
			return Value{}, false
		}
		return valueOf("CAST('"+v.String()+"' AS "+typ.String()+")", v.String()), true
	}
	switch typ {
	case sqltype.Double:
		return Value{SQL: "CAST(" + lit.Text + " AS DOUBLE)"}, lit.Family == sqltree.ExactNumber
	case sqltype.Varchar:
		return valueOf(engine.QuoteString(lit.Text), lit.Text), lit.Family == sqltree.TextLiteral && bare
	case sqltype.Boolean:
		word := map[string]string{"t": "true", "f": "false", "true": "true", "false": "false"}[lit.Text]
		return valueOf(word, word), lit.Family == sqltree.Boolean && word != ""
	case sqltype.Date:
		okFamily := lit.Family == sqltree.Date || lit.Family == sqltree.TextLiteral && bare
		_, ok := sqltype.ParseDate(lit.Text)
		return valueOf("DATE '"+lit.Text+"'", lit.Text), okFamily && ok
	case sqltype.Timestamp:
		okFamily := lit.Family == sqltree.Date || lit.Family == sqltree.Timestamp || lit.Family == sqltree.TextLiteral && bare
		t, ok := timestampOf(lit)
		ts := sqltype.FormatTimestamp(t)
		return valueOf("TIMESTAMP '"+ts+"'", ts), ok && okFamily
	case sqltype.TimestampTZ:
		return instantValue(lit, bare)
	}
	return Value{}, false
}

// instantValue returns a point in time. Without an offset it is a time of the session's
// zone, which is UTC in every session.
func instantValue(lit sqltree.Literal, bare bool) (Value, bool) {
	okFamily := lit.Family == sqltree.TextLiteral && bare || lit.Family == sqltree.Date || lit.Family == sqltree.Timestamp ||
		lit.Family == sqltree.Instant
	t, ok := timestampOf(lit)
	zone := ""
	if !ok && (lit.Family == sqltree.TextLiteral || lit.Family == sqltree.Instant) {
		zone = "+00"
		t, ok = sqltype.ParseInstant(lit.Text)
	}
	ts := sqltype.FormatTimestamp(t)
	return valueOf("CAST('"+ts+zone+"' AS TIMESTAMP WITH TIME ZONE)", ts), ok && okFamily
}

// timestampOf reads a strict timestamp, or a strict date if the literal is a date.
func timestampOf(lit sqltree.Literal) (time.Time, bool) {
	if lit.Family == sqltree.Date {
		return sqltype.ParseDate(lit.Text)
	}
	return sqltype.ParseTimestamp(lit.Text)
}

// InRange reports whether an integer type of that many bits holds v.
func InRange(v *big.Int, bits int, signed bool) bool {
	if !signed {
		return v.Sign() >= 0 && v.BitLen() <= bits
	}
	if v.Sign() < 0 {
		v = new(big.Int).Not(v) // -2^n fits, as 2^n-1 does
	}
	return v.BitLen() < bits
}

// decimalValue is a number that the type holds exactly.
func decimalValue(typ sqltype.Decimal, lit sqltree.Literal) (Value, bool) {
	if lit.Family != sqltree.ExactNumber {
		return Value{}, false
	}
	whole, frac, _ := strings.Cut(strings.TrimPrefix(lit.Text, "-"), ".")
	whole, frac = strings.TrimLeft(whole, "0"), strings.TrimRight(frac, "0")
	if len(whole) > typ.Precision-typ.Scale || len(frac) > typ.Scale {
		return Value{}, false
	}
	return valueOf("CAST('"+lit.Text+"' AS "+typ.String()+")", lit.Text), true
}

// For reads the argument as a constant of exactly the column's type. Of
// doubles the engine rounds a text in another way than a number.
func (a Argument) For(col engine.Column) (Value, bool) {
	if !a.HasLiteral || col.Type == sqltype.Double {
		return Value{}, false
	}
	v, ok := literalFor(col, a.Literal, true)
	v.instant = col.Type == sqltype.TimestampTZ
	return v, ok
}
