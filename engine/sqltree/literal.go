package sqltree

import (
	"math/big"
)

// Family is the type family of a literal.
type Family int

// The families.
const (
	ExactNumber Family = iota // an integer or a decimal
	Float
	TextLiteral
	Boolean
	Date
	Timestamp
	Instant
)

// Literal is a constant of the statement as exact text.
type Literal struct {
	Family Family
	Text   string
}

// LiteralOf returns the literal that n is: a constant, or a constant below one cast to a
// date, a timestamp, DOUBLE or BOOLEAN, which are the forms of literals in the tree. It
// returns false for NULL and for anything else.
func LiteralOf(n *Node) (Literal, bool) {
	switch {
	case n.Is("class", "CONSTANT"):
		return LiteralValue(n.Child("value"))
	case n.Is("class", "CAST") && !n.Flag("try_cast"):
		lit, ok := LiteralValue(n.Child("child").Child("value"))
		if !ok || lit.Family != TextLiteral || !n.Child("child").Is("class", "CONSTANT") {
			return Literal{}, false
		}
		switch n.Child("cast_type").Str("id") {
		case "DATE":
			lit.Family = Date
		case "TIMESTAMP":
			lit.Family = Timestamp
		case "TIMESTAMP WITH TIME ZONE":
			lit.Family = Instant
		case "DOUBLE":
			lit.Family = Float
		case "BOOLEAN":
			lit.Family = Boolean
		case "VARCHAR":
		default:
			return Literal{}, false
		}
		return lit, true
	}
	return Literal{}, false
}

// LiteralValue returns the literal in the value of a constant, or false for NULL and
// for types without literals.
func LiteralValue(v *Node) (Literal, bool) {
	if v == nil || v.Flag("is_null") {
		return Literal{}, false
	}
	payload := v.Get("value")
	num, isNum := payload.(Number)
	switch v.Child("type").Str("id") {
	case "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT":
		return Literal{ExactNumber, string(num)}, isNum
	case "DECIMAL":
		scale, _ := v.Child("type").Child("type_info").Get("scale").(Number)
		text, ok := Scaled(string(num), string(scale))
		return Literal{ExactNumber, text}, isNum && ok
	case "DOUBLE":
		return Literal{Float, string(num)}, isNum
	case "VARCHAR":
		s, ok := payload.(string)
		return Literal{TextLiteral, s}, ok
	case "BOOLEAN":
		b, ok := payload.(bool)
		if b {
			return Literal{Boolean, "true"}, ok
		}
		return Literal{Boolean, "false"}, ok
	}
	return Literal{}, false
}

// Scaled returns a decimal, given its unscaled integer and its scale, with a decimal point.
func Scaled(digits, scale string) (string, bool) {
	n, ok := new(big.Int).SetString(digits, 10)
	s := 0
	for _, c := range scale {
		if c < '0' || c > '9' {
			return "", false
		}
		s = s*10 + int(c-'0')
	}
	if !ok || s > 38 {
		return "", false
	}
	text := new(big.Int).Abs(n).String()
	for len(text) <= s {
		text = "0" + text
	}
	if s > 0 {
		text = text[:len(text)-s] + "." + text[len(text)-s:]
	}
	if n.Sign() < 0 {
		text = "-" + text
	}
	return text, true
}
