package sqltype

import (
	"math"
	"math/big"
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

// FormatDecimal prints unscaled × 10^-scale with scale digits after the point, and
// at least one before it. The scale is not negative.
func FormatDecimal(unscaled *big.Int, scale int) string {
	digits, sign := unscaled.String(), ""
	if unscaled.Sign() < 0 {
		digits, sign = digits[1:], "-"
	}
	if scale == 0 {
		return sign + digits
	}
	digits = strings.Repeat("0", max(0, scale+1-len(digits))) + digits
	return sign + digits[:len(digits)-scale] + "." + digits[len(digits)-scale:]
}

// FromBigEndian reads an integer in two's complement, as Parquet stores unscaled
// decimals.
func FromBigEndian(b []byte) *big.Int {
	n := new(big.Int).SetBytes(b)
	if len(b) > 0 && b[0] >= 0x80 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return n
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
	t, err := time.Parse(time.DateOnly, text)
	return t, err == nil && t.Year() > 0
}

// ParseTimestamp reads a strict timestamp: a strict date, alone or with a blank or T
// and hh:mm:ss[.ffffff].
func ParseTimestamp(text string) (time.Time, bool) {
	if t, ok := ParseDate(text); ok {
		return t, true
	}
	if len(text) < len(time.DateTime) || len(text) > len(timestampLayout) || text[10] != ' ' && text[10] != 'T' {
		return time.Time{}, false
	}
	if fraction := text[len(time.DateTime):]; fraction == "." || fraction != "" && fraction[0] != '.' {
		return time.Time{}, false
	}
	t, err := time.Parse(timestampLayout, text[:10]+" "+text[11:])
	return t, err == nil && t.Year() > 0
}

// ParseInstant reads a strict timestamp with a time and an offset: Z, +hh or +hh:mm.
// The result is in UTC.
func ParseInstant(text string) (time.Time, bool) {
	i := strings.LastIndexAny(text, "Z+-")
	if i < len(time.DateTime) {
		return time.Time{}, false
	}
	local, ok := ParseTimestamp(text[:i])
	if !ok {
		return time.Time{}, false
	}
	for _, layout := range []string{"Z07:00", "-07"} {
		if zone, err := time.Parse(layout, text[i:]); err == nil {
			_, seconds := zone.Zone()
			return local.Add(-time.Duration(seconds) * time.Second), true
		}
	}
	return time.Time{}, false
}
