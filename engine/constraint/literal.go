package constraint

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// text makes a constant text. Other readers interpret quotes and backslashes in it differently.
func (b builder) text(s string) (*expr, error) {
	e := &expr{op: opLiteral, typ: delta.String, text: s}
	if !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
		return nil, invalid("a text that is not valid UTF-8")
	}
	if strings.ContainsAny(s, `'\`) || !plainText(s) {
		if b.spark {
			return nil, invalid("a text with quotes, backslashes or control characters")
		}
		e = b.note(e, "a text has quotes, backslashes or control characters")
	}
	return e, nil
}

func plainText(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) && r != '\u00a0' }) < 0
}

// number makes a constant without exponent, whose type follows from its digits as in both
// languages.
func (b builder) number(digits string) (*expr, error) {
	if whole, fraction, point := strings.Cut(strings.TrimPrefix(digits, "-"), "."); point {
		whole = strings.TrimLeft(whole, "0")
		t := delta.Decimal{Precision: max(1, len(whole)+len(fraction)), Scale: len(fraction)}
		if t.Precision > maxDigits || !allDigits(whole) || !allDigits(fraction) {
			return nil, invalid("the number %.50s", digits)
		}
		return &expr{op: opLiteral, typ: t, text: canonical(digits)}, nil
	}
	n, ok := new(big.Int).SetString(digits, 10)
	switch {
	case !ok || len(digits) > maxDigits+1:
		return nil, invalid("the number %.50s", digits)
	case n.IsInt64() && int64(int32(n.Int64())) == n.Int64():
		return &expr{op: opLiteral, typ: delta.Integer, text: n.String()}, nil
	case n.IsInt64():
		return &expr{op: opLiteral, typ: delta.Long, text: n.String()}, nil
	}
	return &expr{op: opLiteral, typ: delta.Decimal{Precision: len(new(big.Int).Abs(n).String())}, text: n.String()}, nil
}

// canonical formats a decimal with a digit before the point.
func canonical(digits string) string {
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	if strings.HasPrefix(digits, ".") {
		digits = "0" + digits
	}
	return sign + strings.TrimSuffix(digits, ".")
}

func allDigits(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' }) < 0
}

// double makes a constant of type DOUBLE.
func (b builder) double(text string) (*expr, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(v, 0) {
		return nil, invalid("the number %.50s", text)
	}
	return &expr{op: opLiteral, typ: delta.Double, text: strconv.FormatFloat(v, 'g', -1, 64)}, nil
}

// reread converts a constant text to a constant of the type that it is compared with or cast to. It
// accepts only notations that all readers interpret alike.
func (b builder) reread(e *expr, t delta.DataType) (*expr, error) {
	as := &expr{op: opLiteral, typ: t, local: e.local}
	ok := false
	switch familyOf(t) {
	case famDate:
		_, ok = sqltype.ParseDate(e.text)
		as.text = e.text
	case famInstant:
		var at time.Time
		at, ok = sqltype.ParseInstant(e.text)
		as.text = sqltype.FormatTimestamp(at) + "+00:00"
		if ok && (as.text < "1678" || as.text >= "2262") {
			as = b.note(as, "a time outside of the years 1678 to 2261")
		}
	case famLocal:
		var at time.Time
		at, ok = sqltype.ParseTimestamp(e.text)
		as.text = sqltype.FormatTimestamp(at)
		as = b.note(as, "a time without time zone")
	}
	if !ok {
		return nil, invalid("the text '%.40s' is not a %s in a form that has one meaning", e.text, typeName(t))
	}
	return as, nil
}
