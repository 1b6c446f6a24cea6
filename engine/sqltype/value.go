package sqltype

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// AppendFloat appends the shortest JSON that reads back as f, which has 32 or 64
// bits. JSON has no NaN and no infinities: they become strings.
func AppendFloat(dst []byte, f float64, bits int) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, `"NaN"`...)
	case math.IsInf(f, 1):
		return append(dst, `"Infinity"`...)
	case math.IsInf(f, -1):
		return append(dst, `"-Infinity"`...)
	}
	format := byte('f')
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(dst, f, format, -1, bits)
}

// The strict forms of dates and times are those that every SQL engine reads alike:
// all digits are there, years are 0001 to 9999, and fractions have at most six
// digits. The functions below report false for any other form.

// timestampLayout prints microseconds without trailing zeros.
const timestampLayout = "2006-01-02 15:04:05.999999"

// FormatTimestamp prints t in UTC as a strict timestamp.
func FormatTimestamp(t time.Time) string { return t.UTC().Format(timestampLayout) }

// ParseDate reads a strict date: yyyy-mm-dd.
func ParseDate(text string) (time.Time, bool) {
	days, ok := ParseDays(text)
	return time.UnixMicro(int64(days) * MicrosOfDay).UTC(), ok
}

// ParseTimestamp reads a strict timestamp: a strict date, alone or with a blank or T
// and hh:mm:ss[.ffffff].
func ParseTimestamp(text string) (time.Time, bool) {
	if t, ok := ParseDate(text); ok {
		return t, true
	}
	micros, ok := ParseMicros(text, WithoutOffset)
	return time.UnixMicro(micros).UTC(), ok && len(text) <= len(timestampLayout) && text[10] != 't'
}

// ParseInstant reads a strict timestamp with a time and an offset: Z, +hh or +hh:mm.
// The result is in UTC.
func ParseInstant(text string) (time.Time, bool) {
	i := strings.LastIndexAny(text, "Z+-")
	if i < len(time.DateTime) {
		return time.Time{}, false
	}
	offset := text[i:]
	if len(offset) == len("+hh") {
		offset += ":00"
	}
	local, ok := ParseTimestamp(text[:i])
	minutes, valid := parseOffset(offset)
	return local.Add(-time.Duration(minutes) * time.Minute), ok && valid
}
