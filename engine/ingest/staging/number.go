package staging

import (
	"math"
	"math/bits"
	"strconv"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// maxDigits are the digits that a number may need: those of DECIMAL(38).
const maxDigits = 38

// number is a decimal text as it stands, without rounding: 0.digits × 10^point.
type number struct {
	negative bool
	// digits neither begin nor end with a zero; zero itself has none.
	digits [maxDigits]byte
	n      int
	// point is where the decimal point stands, counted from before the digits.
	point int
}

// maxExponent is above what any type holds, so that sums of it do not overflow.
const maxExponent = 1 << 20

// parseNumber reads [+-] digits [. digits] [e [+-] digits]. A number with more
// than 38 significant digits is refused: no exact type holds it.
func parseNumber(text []byte) (x number, ok bool) {
	i, seen := 0, false
	if i < len(text) && (text[i] == '-' || text[i] == '+') {
		x.negative = text[i] == '-'
		i++
	}
	zeros, fraction := 0, false
	for ; i < len(text); i++ {
		c := text[i]
		if c == '.' && !fraction {
			fraction = true
			continue
		}
		if c < '0' || c > '9' {
			break
		}
		seen = true
		switch started := x.n > 0; {
		case c == '0' && !started:
			if fraction {
				x.point--
			}
		case c == '0':
			zeros++
			if !fraction {
				x.point++
			}
		default:
			if x.n+zeros >= maxDigits {
				return x, false
			}
			for ; zeros > 0; zeros-- {
				x.digits[x.n] = 0
				x.n++
			}
			x.digits[x.n] = c - '0'
			x.n++
			if !fraction {
				x.point++
			}
		}
	}
	if !seen {
		return x, false
	}
	if i < len(text) {
		exponent, ok := parseExponent(text[i:])
		if !ok {
			return x, false
		}
		x.point += exponent
	}
	return x, true
}

// parseExponent reads e [+-] digits; what is beyond every type stays beyond it.
func parseExponent(text []byte) (int, bool) {
	if len(text) < 2 || text[0]|' ' != 'e' {
		return 0, false
	}
	text = text[1:]
	negative := text[0] == '-'
	if negative || text[0] == '+' {
		text = text[1:]
	}
	exponent := 0
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, false
		}
		exponent = min(exponent*10+int(c-'0'), maxExponent)
	}
	if negative {
		exponent = -exponent
	}
	return exponent, len(text) > 0
}

// scaled is the number × 10^scale, if that is whole and has at most precision
// digits.
func (x *number) scaled(precision, scale int32) (decimal128.Num, bool) {
	if x.n == 0 {
		return decimal128.Num{}, true
	}
	length := x.point + int(scale) // digits of the result
	if length < x.n || length > int(precision) {
		return decimal128.Num{}, false
	}
	var hi, lo uint64
	for i := range length {
		var digit uint64
		if i < x.n {
			digit = uint64(x.digits[i])
		}
		carry, low := bits.Mul64(lo, 10)
		hi = hi*10 + carry
		lo, carry = bits.Add64(low, digit, 0)
		hi += carry
	}
	v := decimal128.New(int64(hi), lo)
	if x.negative {
		v = v.Negate()
	}
	return v, true
}

// parseDecimal reads a DECIMAL(precision, scale).
func parseDecimal(text []byte, precision, scale int32) (decimal128.Num, bool) {
	x, ok := parseNumber(text)
	if !ok {
		return decimal128.Num{}, false
	}
	return x.scaled(precision, scale)
}

// parseInteger reads a whole number between low and high, also 1e3 and 1.0.
func parseInteger(text []byte, low, high int64) (int64, bool) {
	v, ok := plainInteger(text)
	if !ok {
		x, valid := parseNumber(text)
		if !valid {
			return 0, false
		}
		wide, whole := x.scaled(19, 0)
		if v = int64(wide.LowBits()); !whole || wide != decimal128.FromI64(v) {
			return 0, false
		}
	}
	return v, low <= v && v <= high
}

// plainInteger reads up to 18 digits, which is what most integers are.
func plainInteger(text []byte) (int64, bool) {
	digits := text
	if len(text) > 0 && text[0] == '-' {
		digits = text[1:]
	}
	if len(digits) == 0 || len(digits) > 18 {
		return 0, false
	}
	v := int64(0)
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		v = v*10 + int64(c-'0')
	}
	if len(digits) < len(text) {
		v = -v
	}
	return v, true
}

// parseFloat reads the number nearest to a decimal text. What is beyond the range
// is refused, not made infinite.
func parseFloat(text []byte, bitSize int) (float64, bool) {
	for _, c := range text {
		if (c < '0' || c > '9') && c != '-' && c != '+' && c != '.' && c|' ' != 'e' {
			return 0, false // infinities, hexadecimal numbers and underscores
		}
	}
	if len(text) == 0 {
		return 0, false
	}
	v, err := strconv.ParseFloat(unsafe.String(&text[0], len(text)), bitSize)
	return v, err == nil
}

// parseSpecial reads what is no number: NaN and the infinities.
func parseSpecial(text []byte) (float64, bool) {
	switch string(text) {
	case "NaN", "nan":
		return math.NaN(), true
	case "Infinity", "+Infinity", "inf", "+inf", "Inf", "+Inf":
		return math.Inf(1), true
	case "-Infinity", "-inf", "-Inf":
		return math.Inf(-1), true
	}
	return 0, false
}
