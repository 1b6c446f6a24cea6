package domain

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/constraint"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/deltasql"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// ValueError reports text that is not a value of a column's type. Its message is for the
// caller.
type ValueError struct{ Reason string }

// Error returns the reason.
func (e *ValueError) Error() string { return e.Reason }

func notValue(format string, args ...any) error {
	return &ValueError{Reason: fmt.Sprintf(format, args...)}
}

// Listable reports whether values of columns of type t can be listed, or taken from a
// column of another table.
func Listable(t delta.DataType) bool {
	switch t := t.(type) {
	case delta.Decimal:
		return true
	case delta.Primitive:
		switch t {
		case delta.String, delta.Byte, delta.Short, delta.Integer, delta.Long, delta.Date, delta.Timestamp, delta.TimestampNTZ,
			delta.Boolean:
			return true
		}
	}
	return false
}

// Bounded reports whether a range can restrict columns of type t.
func Bounded(t delta.DataType) bool {
	switch t {
	case delta.String, delta.Boolean:
		return false
	case delta.Float, delta.Double:
		return true
	}
	return Listable(t)
}

// Comparable reports whether values of a source column can be values of a column: both have
// the same type, or both are integers or decimals.
func Comparable(column, source delta.DataType) bool {
	return Listable(column) && (column == source || exactNumber(column) && exactNumber(source))
}

func exactNumber(t delta.DataType) bool {
	if _, ok := t.(delta.Decimal); ok {
		return true
	}
	return integerBits(t) > 0
}

func integerBits(t delta.DataType) int {
	bits, _ := sqltype.IntegerBits(deltasql.Type(t))
	return bits
}

// Canonical returns the text of the value that text is for a column of type t: 42 for 042.
// The error is a [ValueError].
func Canonical(t delta.DataType, text string) (string, error) {
	if strings.TrimSpace(text) == "" {
		return "", notValue("must not be blank")
	}
	if !utf8.ValidString(text) || strings.Contains(text, "\x00") {
		return "", notValue("must be UTF-8 without NUL characters")
	}
	switch t {
	case delta.String:
		return text, nil
	case delta.Boolean:
		if folded := strings.ToLower(text); folded == "true" || folded == "false" {
			return folded, nil
		}
		return "", notValue("must be true or false")
	case delta.Date:
		if at, ok := sqltype.ParseDate(text); ok {
			return at.Format(time.DateOnly), nil
		}
		return "", notValue("must be a date, as in 2024-01-31")
	case delta.TimestampNTZ:
		if at, ok := sqltype.ParseTimestamp(text); ok {
			return timeText(at), nil
		}
		return "", notValue("must be a time without an offset, as in 2024-01-31T12:00:00")
	case delta.Timestamp:
		if at, ok := sqltype.ParseInstant(text); ok {
			return timeText(at) + "Z", nil
		}
		return "", notValue("must be a time with an offset, as in 2024-01-31T12:00:00Z")
	case delta.Float, delta.Double:
		return canonicalFloat(t, text)
	}
	if d, ok := t.(delta.Decimal); ok {
		return canonicalDecimal(d, text)
	}
	if bits := integerBits(t); bits > 0 {
		n, err := strconv.ParseInt(text, 10, bits)
		if err != nil {
			return "", notValue("must be a whole number of %d bits", bits)
		}
		return strconv.FormatInt(n, 10), nil
	}
	return "", notValue("the type %s has no domains", t)
}

func timeText(t time.Time) string { return strings.Replace(sqltype.FormatTimestamp(t), " ", "T", 1) }

func canonicalFloat(t delta.DataType, text string) (string, error) {
	bits := 64
	if t == delta.Float {
		bits = 32
	}
	f, err := strconv.ParseFloat(text, bits)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) || strings.ContainsAny(text, "xX_pP") {
		return "", notValue("must be a finite number")
	}
	return string(sqltype.AppendFloat(nil, f+0, bits)), nil // -0 + 0 is 0
}

func canonicalDecimal(t delta.Decimal, text string) (string, error) {
	digits := strings.TrimLeft(text, "+-")
	whole, fraction, _ := strings.Cut(digits, ".")
	fraction = strings.TrimRight(fraction, "0")
	unscaled, ok := new(big.Int), len(text)-len(digits) <= 1 && onlyDigits(whole) && onlyDigits(fraction) && digits != "."
	if ok = ok && len(fraction) <= t.Scale; ok {
		unscaled, ok = unscaled.SetString(whole+fraction+strings.Repeat("0", t.Scale-len(fraction)), 10)
	}
	if !ok || len(unscaled.String()) > t.Precision {
		return "", notValue("must be a number of at most %d digits, %d of them after the point", t.Precision, t.Scale)
	}
	if text[0] == '-' {
		unscaled.Neg(unscaled)
	}
	return sqltype.FormatDecimal(unscaled, t.Scale), nil
}

func onlyDigits(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' }) < 0
}

// TextSQL returns SQL for the canonical text of an expression of type t.
func TextSQL(t delta.DataType, expr string) string {
	switch t {
	case delta.String:
		return expr
	case delta.TimestampNTZ:
		return "replace(" + expr + "::VARCHAR, ' ', 'T')"
	case delta.Timestamp:
		// The number of microseconds does not depend on the session's time zone.
		return "replace(make_timestamp(epoch_us(" + expr + "))::VARCHAR, ' ', 'T') || 'Z'"
	}
	if d, ok := t.(delta.Decimal); ok && d.Precision == d.Scale {
		// The engine prints no digit before the point.
		return "regexp_replace(" + expr + `::VARCHAR, '^(-?)[.]', '\10.')`
	}
	return expr + "::VARCHAR"
}

// Literal returns SQL for a canonical text as a value of type t.
func Literal(t delta.DataType, canonical string) string {
	return "CAST(" + engine.QuoteString(canonical) + " AS " + deltasql.Type(t).String() + ")"
}

// Equal returns the condition that a column has the value of a canonical text, as SQL over
// the relation with the alias of package constraint, and for pruning.
func Equal(c Column, canonical string) (sql string, condition engine.Condition) {
	sql = c.in(constraint.Alias) + " = " + try(c.Type, canonical)
	switch c.Type {
	case delta.Float, delta.Double:
		return sql, engine.Condition{}
	case delta.Timestamp, delta.TimestampNTZ:
		canonical = strings.TrimSuffix(strings.Replace(canonical, "T", " ", 1), "Z")
	}
	return sql, engine.Condition{Op: engine.ConditionEqual, Column: c.Name, Values: []engine.ConditionValue{engine.ConditionValue(canonical)}}
}
