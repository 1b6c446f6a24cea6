package delta

import (
	"math"
	"regexp"
	"strconv"
	"strings"
)

// wholeNumber parses an integer. Like Spark's cast it drops a fraction.
func wholeNumber(text string, bits int) (string, bool) {
	whole, fraction, point := strings.Cut(text, ".")
	if point && fraction != "" && !allDigits(fraction) {
		return "", false
	}
	n, err := strconv.ParseInt(whole, 10, bits)
	return strconv.FormatInt(n, 10), err == nil
}

// plainFloat matches a number that Java's parser reads, except hexadecimal ones.
var plainFloat = regexp.MustCompile(`^([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)[fFdD]?$`)

// floatText parses a floating-point number of the given bits and prints it as Java
// does. Numbers beyond the range become infinite.
func floatText(text string, bits int) (string, bool) {
	switch strings.ToLower(text) {
	case "nan":
		return "NaN", true
	case "inf", "+inf", "infinity", "+infinity":
		return "Infinity", true
	case "-inf", "-infinity":
		return "-Infinity", true
	}
	m := plainFloat.FindStringSubmatch(text)
	if m == nil {
		return "", false
	}
	f, _ := strconv.ParseFloat(m[1], bits) // it has the form of a number: only the range can be wrong
	switch {
	case math.IsInf(f, 1):
		return "Infinity", true
	case math.IsInf(f, -1):
		return "-Infinity", true
	case f == 0 || math.Abs(f) >= 1e-3 && math.Abs(f) < 1e7:
		return withPoint(strconv.FormatFloat(f, 'f', -1, bits)), true
	}
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(f, 'e', -1, bits), "e")
	n, err := strconv.Atoi(exponent)
	return withPoint(mantissa) + "E" + strconv.Itoa(n), err == nil
}

func withPoint(digits string) string {
	if strings.Contains(digits, ".") {
		return digits
	}
	return digits + ".0"
}

func allDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
