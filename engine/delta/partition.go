package delta

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// PartitionValue turns a value of a partition column, as DuckDB prints it in
// UTC, into the form that the log holds. Null and the empty string are both
// null: the log cannot tell them apart. The error is [ErrInvalidValue].
func PartitionValue(t DataType, text *string) (*string, error) {
	return convertPartition(t, text, func(at time.Time, zoned bool) string {
		if zoned {
			return at.Format("2006-01-02T15:04:05.000000Z")
		}
		return at.Format("2006-01-02 15:04:05.999999")
	})
}

// ParsePartitionValue turns a value of the log, in any of the forms that
// writers use, into text that DuckDB casts to the column's type. The error is
// [ErrInvalidValue].
func ParsePartitionValue(t DataType, value *string) (*string, error) {
	return convertPartition(t, value, func(at time.Time, zoned bool) string {
		text := at.Format("2006-01-02 15:04:05.999999")
		if zoned {
			text += "+00"
		}
		return text
	})
}

func convertPartition(t DataType, text *string, stamp func(time.Time, bool) string) (*string, error) {
	if text == nil || *text == "" {
		return nil, nil
	}
	out, ok := "", false
	switch t := t.(type) {
	case Decimal:
		out, ok = plainDecimal(*text, t)
	case Primitive:
		out, ok = partitionText(t, *text, stamp)
	}
	if !ok {
		return nil, fmt.Errorf("partition value %.60q of type %s: %w", *text, t, ErrInvalidValue)
	}
	return &out, nil
}

var integerBits = map[Primitive]int{Byte: 8, Short: 16, Integer: 32, Long: 64}

func partitionText(t Primitive, text string, stamp func(time.Time, bool) string) (string, bool) {
	switch t {
	case String:
		return text, utf8.ValidString(text)
	case Byte, Short, Integer, Long:
		n, err := strconv.ParseInt(text, 10, integerBits[t])
		return strconv.FormatInt(n, 10), err == nil
	case Boolean:
		lower := strings.ToLower(text)
		return lower, lower == "true" || lower == "false"
	case Date:
		d, err := time.Parse(time.DateOnly, text)
		return text, err == nil && d.Year() > 0
	case Timestamp, TimestampNTZ:
		at, ok := parseTimestamp(text)
		return stamp(at, t == Timestamp), ok && at.Nanosecond()%1000 == 0
	}
	return "", false
}

// timestampLayouts are the forms of DuckDB, of the log, and of both with an
// offset. Go reads a fraction of a second after any of them.
var timestampLayouts = []string{
	"2006-01-02 15:04:05", "2006-01-02 15:04:05Z07", "2006-01-02 15:04:05Z07:00",
	"2006-01-02 15:04:05Z07:00:00",
	"2006-01-02T15:04:05", "2006-01-02T15:04:05Z07", "2006-01-02T15:04:05Z07:00",
}

// parseTimestamp reads an instant of the years 1 to 9999; without an offset it
// is UTC.
func parseTimestamp(text string) (time.Time, bool) {
	for _, layout := range timestampLayouts {
		if at, err := time.Parse(layout, text); err == nil {
			at = at.UTC()
			return at, at.Year() >= 1 && at.Year() <= 9999
		}
	}
	return time.Time{}, false
}

// plainDecimal accepts digits with at most one point, within the type. Spark
// outside its ANSI mode writes numbers next to zero, and zero itself, with an exponent.
func plainDecimal(text string, t Decimal) (string, bool) {
	if mantissa, exponent, has := strings.Cut(strings.ToLower(text), "e"); has {
		places, err := strconv.Atoi(exponent)
		if text = movePoint(mantissa, places); err != nil || text == "" {
			return "", false
		}
	}
	digits := strings.TrimPrefix(text, "-")
	whole, fraction, point := strings.Cut(digits, ".")
	if !allDigits(whole) || point && !allDigits(fraction) {
		return "", false
	}
	short := strings.TrimLeft(whole, "0")
	if len(short) > t.Precision-t.Scale || len(strings.TrimRight(fraction, "0")) > t.Scale {
		return "", false
	}
	if short == "" {
		short = "0"
	}
	if point {
		short += "." + fraction
	}
	if digits != text {
		short = "-" + short
	}
	return short, true
}

// movePoint multiplies digits with a power of ten; "" for what are none, and for
// powers beyond all decimals.
func movePoint(text string, places int) string {
	const most = 76
	digits := strings.TrimPrefix(text, "-")
	sign := text[:len(text)-len(digits)]
	whole, fraction, _ := strings.Cut(digits, ".")
	if !allDigits(whole+fraction) || max(places, -places) > most {
		return ""
	}
	all := strings.Repeat("0", max(0, -places)) + whole + fraction + strings.Repeat("0", max(0, places))
	at := len(whole) + max(0, places)
	if at == len(all) {
		return sign + all
	}
	return sign + all[:at] + "." + all[at:]
}

func allDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
