package constant

import (
	"strings"
	"time"
)

// IsDate reports whether s is yyyy-mm-dd of the proleptic Gregorian calendar.
func IsDate(s string) bool {
	if len(s) != 10 || s < "0001" {
		return false
	}
	_, err := time.Parse("2006-01-02", s)
	return err == nil
}

// AsTimestamp returns yyyy-mm-dd, optionally with hh:mm:ss and up to six fractional digits,
// in the canonical form of timestamps.
func AsTimestamp(s string) (string, bool) {
	if IsDate(s) {
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

// strictInstant returns a timestamp with an offset (Z, +hh or +hh:mm) in UTC.
func strictInstant(s string) (string, bool) {
	i := strings.LastIndexAny(s, "Z+-")
	if i < 19 {
		return "", false
	}
	text, ok := AsTimestamp(s[:i])
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
