package delta

import (
	"math"
	"math/big"
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

// plainNumber matches a number that Java's BigDecimal reads.
var plainNumber = regexp.MustCompile(`^([+-]?)([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]+))?$`)

// maxDecimalText bounds the text of a decimal in bytes, and with it the work.
const maxDecimalText = 1000

// roundDecimal converts a number to the type and prints all digits of its scale. Like
// Spark's cast it rounds halves away from zero.
func roundDecimal(text string, t Decimal) (string, bool) {
	m := plainNumber.FindStringSubmatch(text)
	if m == nil || m[2]+m[3] == "" || len(text) > maxDecimalText {
		return "", false
	}
	exponent := 0
	if m[4] != "" {
		n, err := strconv.ParseInt(m[4], 10, 32)
		if err != nil {
			return "", false
		}
		exponent = int(n)
	}
	digits := strings.TrimLeft(m[2]+m[3], "0")
	// within is the number of digits up to the last decimal place of the type.
	within := len(digits) - len(m[3]) + exponent + t.Scale
	n := new(big.Int)
	switch {
	case digits == "" || within < 0:
	case within > t.Precision:
		return "", false
	case within >= len(digits):
		n.SetString(digits+strings.Repeat("0", within-len(digits)), 10)
	default:
		n.SetString("0"+digits[:within], 10)
		if digits[within] >= '5' {
			n.Add(n, big.NewInt(1))
		}
	}
	out := n.String()
	if n.Sign() != 0 && len(out) > t.Precision {
		return "", false
	}
	if t.Scale > 0 {
		out = strings.Repeat("0", max(0, t.Scale+1-len(out))) + out
		out = out[:len(out)-t.Scale] + "." + out[len(out)-t.Scale:]
	}
	if m[1] == "-" && n.Sign() != 0 {
		out = "-" + out
	}
	return out, true
}

func allDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
