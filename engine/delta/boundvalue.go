package delta

import (
	"strings"
	"time"
)

// timestampLayouts are the forms in which DuckDB prints timestamps. time.Parse accepts
// a fractional second after each of them.
var timestampLayouts = []string{
	"2006-01-02 15:04:05", "2006-01-02 15:04:05Z07", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05Z07:00:00",
}

// parseTimestamp parses a timestamp as DuckDB prints it. It reports false outside the
// years 1 to 9999. A timestamp without an offset is in UTC.
func parseTimestamp(text string) (time.Time, bool) {
	for _, layout := range timestampLayouts {
		if at, err := time.Parse(layout, text); err == nil {
			at = at.UTC()
			return at, at.Year() >= 1 && at.Year() <= 9999
		}
	}
	return time.Time{}, false
}

// plainDecimal accepts digits with at most one point that fit into the type. It does
// not round, because a rounded bound would be wrong.
func plainDecimal(text string, t Decimal) (string, bool) {
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
