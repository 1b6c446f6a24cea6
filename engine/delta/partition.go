package delta

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// PartitionValue converts a value of a partition column from DuckDB's text, in UTC, to
// the form of the log. NULL and the empty string are both NULL, because the log cannot
// distinguish them. The error is [ErrInvalidValue]; among others, a binary value that
// is not UTF-8 has no form in the log.
func PartitionValue(t DataType, text *string) (*string, error) {
	return convertPartition(t, text, partitionForm{fromDuckDB, logText})
}

// ParsePartitionValue converts a value of the log to text that DuckDB casts to the
// column's type. It accepts the forms that Spark's cast from a string accepts in UTC
// and without ANSI mode, except times without a date and names of time zones, and has
// the same results. Equal values have equal texts. The error is [ErrInvalidValue],
// which includes values that Spark reads as NULL.
func ParsePartitionValue(t DataType, value *string) (*string, error) {
	return convertPartition(t, value, partitionForm{func(_ Primitive, text string) (string, bool) { return text, true }, duckText})
}

// partitionForm converts values from one text form to the other.
type partitionForm struct {
	// from converts the given text to one that Spark reads.
	from func(t Primitive, text string) (string, bool)
	// print prints a value whose form differs between DuckDB and the log.
	print func(v any) (string, bool)
}

func convertPartition(t DataType, text *string, form partitionForm) (*string, error) {
	if text == nil || *text == "" {
		return nil, nil
	}
	out, ok := "", false
	switch t := t.(type) {
	case Decimal:
		// Like Spark's cast it rounds halves away from zero.
		var n *big.Int
		if n, ok = sqltype.ParseDecimal(trimmed(*text), t.Precision, t.Scale, sqltype.HalfAway); ok {
			out = sqltype.FormatDecimal(n, t.Scale)
		}
	case Primitive:
		var given string
		if given, ok = form.from(t, *text); ok {
			out, ok = partitionText(t, given, form.print)
		}
	}
	if !ok {
		return nil, fmt.Errorf("partition value of type %s: %w", t, ErrInvalidValue)
	}
	return &out, nil
}

var integerBits = map[Primitive]int{Byte: 8, Short: 16, Integer: 32, Long: 64}

func partitionText(t Primitive, text string, print func(any) (string, bool)) (string, bool) {
	switch t {
	case String:
		return text, utf8.ValidString(text)
	case Binary:
		return print([]byte(text))
	case Byte, Short, Integer, Long:
		return wholeNumber(trimmed(text), integerBits[t])
	case Float:
		return floatText(trimmed(text), 32)
	case Double:
		return floatText(trimmed(text), 64)
	case Boolean:
		return booleanText(strings.ToLower(trimmed(text)))
	case Date:
		d, ok := parseDate(trimmed(text))
		if !ok {
			return "", false
		}
		return print(d)
	case Timestamp, TimestampNTZ:
		at, ok := parseInstant(trimmed(text), t == Timestamp)
		if !ok {
			return "", false
		}
		return print(at)
	}
	return "", false
}

// trimmed removes what Spark's casts ignore at both ends: white space and control
// characters.
func trimmed(text string) string {
	return strings.TrimFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f })
}

// fromDuckDB converts DuckDB's text to text that Spark reads.
func fromDuckDB(t Primitive, text string) (string, bool) {
	switch t {
	case Binary:
		return unescapeBlob(text)
	case Date, Timestamp, TimestampNTZ:
		// The year 1 BC is the year 0 of ISO 8601.
		rest, before := strings.CutSuffix(text, " (BC)")
		if !before {
			if date, clock, found := strings.Cut(text, " (BC) "); found {
				rest, before = date+" "+clock, true
			}
		}
		if !before {
			return text, true
		}
		year, month, _ := strings.Cut(rest, "-")
		n, err := strconv.Atoi(year)
		return signedYear(1-n) + "-" + month, err == nil
	}
	return text, true
}

// unescapeBlob parses DuckDB's text of a BLOB, in which \xHH denotes a byte.
func unescapeBlob(text string) (string, bool) {
	var b strings.Builder
	for {
		plain, rest, escaped := strings.Cut(text, `\x`)
		b.WriteString(plain)
		if !escaped {
			return b.String(), true
		}
		n, err := strconv.ParseUint(rest[:min(2, len(rest))], 16, 8)
		if err != nil || len(rest) < 2 {
			return "", false
		}
		b.WriteByte(byte(n))
		text = rest[2:]
	}
}

// logText prints a value in the form of the log.
func logText(v any) (string, bool) {
	switch v := v.(type) {
	case []byte:
		return string(v), utf8.Valid(v)
	case civilDate:
		return v.iso(), true
	case instant:
		if v.zoned {
			return v.date.iso() + "T" + v.clock() + fmt.Sprintf(".%06dZ", v.micros), true
		}
		return v.date.iso() + " " + v.clock() + v.fraction(), true
	}
	return "", false
}

// duckText prints a value as text that DuckDB casts to it.
func duckText(v any) (string, bool) {
	switch v := v.(type) {
	case []byte:
		var b strings.Builder
		for _, c := range v {
			fmt.Fprintf(&b, `\x%02X`, c)
		}
		return b.String(), true
	case civilDate:
		return v.duckDB(), true
	case instant:
		text := v.date.duckDB() + " " + v.clock() + v.fraction()
		if v.zoned {
			text += "+00"
		}
		return text, true
	}
	return "", false
}

func booleanText(text string) (string, bool) {
	switch text {
	case "t", "true", "y", "yes", "1":
		return "true", true
	case "f", "false", "n", "no", "0":
		return "false", true
	}
	return "", false
}

// partitionTypes lists the primitive types whose values have a form in the log.
var partitionTypes = []Primitive{
	String, Binary, Byte, Short, Integer, Long, Float, Double, Boolean, Date, Timestamp, TimestampNTZ,
}

// readsPartition reports whether [ParsePartitionValue] supports the type.
func readsPartition(t DataType) bool {
	switch t := t.(type) {
	case Decimal:
		return true
	case Primitive:
		return slices.Contains(partitionTypes, t)
	}
	return false
}
