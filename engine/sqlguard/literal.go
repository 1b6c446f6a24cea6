package sqlguard

import (
	"math/big"
	"strings"
	"time"
)

type litFamily int

const (
	litNumber litFamily = iota // exact: an integer or a decimal
	litFloat
	litText
	litBool
	litDate
	litTimestamp
	litTimestampTZ
)

// literal is a constant of the statement as exact text.
type literal struct {
	family litFamily
	text   string
}

// constantOf reads a constant, or a constant under one cast to a date, a
// timestamp, DOUBLE or BOOLEAN: the forms that literals take in the tree. NULL
// is none.
func constantOf(n *node) (literal, bool) {
	switch {
	case n.is("class", "CONSTANT"):
		return plainConstant(n.child("value"))
	case n.is("class", "CAST") && !n.flag("try_cast"):
		lit, ok := plainConstant(n.child("child").child("value"))
		if !ok || lit.family != litText || !n.child("child").is("class", "CONSTANT") {
			return literal{}, false
		}
		switch n.child("cast_type").str("id") {
		case "DATE":
			lit.family = litDate
		case "TIMESTAMP":
			lit.family = litTimestamp
		case "TIMESTAMP WITH TIME ZONE":
			lit.family = litTimestampTZ
		case "DOUBLE":
			lit.family = litFloat
		case "BOOLEAN":
			lit.family = litBool
		case "VARCHAR":
		default:
			return literal{}, false
		}
		return lit, true
	}
	return literal{}, false
}

func plainConstant(v *node) (literal, bool) {
	if v == nil || v.flag("is_null") {
		return literal{}, false
	}
	payload := v.get("value")
	num, isNum := payload.(number)
	switch v.child("type").str("id") {
	case "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT":
		return literal{litNumber, string(num)}, isNum
	case "DECIMAL":
		scale, _ := v.child("type").child("type_info").get("scale").(number)
		text, ok := scaled(string(num), string(scale))
		return literal{litNumber, text}, isNum && ok
	case "DOUBLE":
		return literal{litFloat, string(num)}, isNum
	case "VARCHAR":
		s, ok := payload.(string)
		return literal{litText, s}, ok
	case "BOOLEAN":
		b, ok := payload.(bool)
		if b {
			return literal{litBool, "true"}, ok
		}
		return literal{litBool, "false"}, ok
	}
	return literal{}, false
}

// scaled writes a decimal's stored integer with its point.
func scaled(digits, scale string) (string, bool) {
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

// strictDate accepts exactly yyyy-mm-dd of the proleptic calendar.
func strictDate(s string) bool {
	if len(s) != 10 || s < "0001" {
		return false
	}
	_, err := time.Parse("2006-01-02", s)
	return err == nil
}

// strictTimestamp accepts yyyy-mm-dd, also with hh:mm:ss and up to six
// fractional digits, and returns it in the one form that we print.
func strictTimestamp(s string) (string, bool) {
	if strictDate(s) {
		return s + " 00:00:00", true
	}
	if len(s) > 10 && s[10] == 'T' {
		s = s[:10] + " " + s[11:]
	}
	if len(s) < 19 || len(s) > 26 || strings.ContainsAny(s, ",") {
		return "", false
	}
	if len(s) > 19 && (s[19] != '.' || len(s) == 20) {
		return "", false
	}
	if _, err := time.Parse("2006-01-02 15:04:05.999999", s); err != nil {
		return "", false
	}
	return s, true
}

// strictInstant accepts a strict timestamp with an offset (Z, +hh or +hh:mm),
// and returns it in UTC.
func strictInstant(s string) (string, bool) {
	i := strings.LastIndexAny(s, "Z+-")
	if i < 19 {
		return "", false
	}
	text, ok := strictTimestamp(s[:i])
	if !ok {
		return "", false
	}
	for _, layout := range []string{"Z07:00", "-07"} {
		if t, err := time.Parse("2006-01-02 15:04:05.999999"+layout, text+s[i:]); err == nil {
			return t.UTC().Format("2006-01-02 15:04:05.999999") + "+00", true
		}
	}
	return "", false
}
