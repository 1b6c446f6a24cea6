package pruning

import (
	"cmp"
	"encoding/binary"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// value is a constant of any type with an order. Integers, booleans, days, microseconds and
// decimals of up to 18 digits are in n; strings in s; wider decimals are 128 bits, the upper half
// in n and the lower, as eight bytes, in s. Only values of one column are compared.
type value struct {
	n int64
	s string
}

func compare(a, b value) int {
	if a.n != b.n {
		return cmp.Compare(a.n, b.n)
	}
	return strings.Compare(a.s, b.s)
}

// narrowDigits is the precision up to which a decimal fits an int64.
const narrowDigits = 18

// bounded reports whether values of the type have an order in this package.
func bounded(t delta.DataType) bool {
	switch t := t.(type) {
	case delta.Decimal:
		return true
	case delta.Primitive:
		switch t {
		case delta.Byte, delta.Short, delta.Integer, delta.Long, delta.Boolean, delta.Date,
			delta.Timestamp, delta.TimestampNTZ, delta.String:
			return true
		}
	}
	return false
}

// parseExact parses the value of a condition, or a partition value that [delta.ParsePartitionValue]
// returned, whose format differs only in the offset of an instant.
func parseExact(t delta.DataType, text string) (value, bool) {
	switch t := t.(type) {
	case delta.Decimal:
		return decimalValue(text, t)
	case delta.Primitive:
		switch t {
		case delta.Byte, delta.Short, delta.Integer, delta.Long:
			n, err := strconv.ParseInt(text, 10, 64)
			return value{n: n}, err == nil
		case delta.Boolean:
			return boolean(text)
		case delta.Date:
			return day(text)
		case delta.Timestamp:
			return instant(strings.TrimSuffix(text, "+00"), sqltype.WithoutOffset)
		case delta.TimestampNTZ:
			return instant(text, sqltype.WithoutOffset)
		case delta.String:
			return value{s: text}, utf8.ValidString(text)
		}
	}
	return value{}, false
}

func boolean(text string) (value, bool) {
	switch text {
	case "true":
		return value{n: 1}, true
	case "false":
		return value{}, true
	}
	return value{}, false
}

func day(text string) (value, bool) {
	d, ok := sqltype.ParseDays(text)
	return value{n: int64(d)}, ok
}

// instant parses a point in time, in microseconds.
func instant(text string, offset sqltype.Offset) (value, bool) {
	n, ok := sqltype.ParseMicros(text, offset)
	return value{n: n}, ok
}

// wide returns a decimal of 128 bits.
func wide(high int64, low uint64) value {
	return value{n: high, s: string(binary.BigEndian.AppendUint64(nil, low))}
}
