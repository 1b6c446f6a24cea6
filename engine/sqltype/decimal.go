package sqltype

import (
	"math/big"
	"strconv"
	"strings"
)

// Rounding is what happens to the digits of a number that a decimal type has no room for after the
// point.
type Rounding int

// The ways of rounding.
const (
	// Exact refuses a number that would have to be rounded.
	Exact Rounding = iota
	// Floor rounds to the smaller number.
	Floor
	// Ceiling rounds to the larger number.
	Ceiling
	// HalfAway rounds to the nearest number, and halves away from zero.
	HalfAway
)

// maxDecimalText bounds the text of a number in bytes, and with it the work.
const maxDecimalText = 1000

// ParseDecimal parses [+-]digits[.digits][e[+-]digits], where the digits before or after the point
// may be missing, as a DECIMAL(precision, scale). It returns the number × 10^scale. It reports
// false for any other text, for one of more than 1000 bytes and for a number that the type cannot
// hold.
func ParseDecimal(text string, precision, scale int, r Rounding) (*big.Int, bool) {
	if len(text) > maxDecimalText {
		return nil, false
	}
	text, negative := strings.CutPrefix(text, "-")
	if !negative {
		text = strings.TrimPrefix(text, "+")
	}
	exponent := int64(0)
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		var err error
		if exponent, err = strconv.ParseInt(text[i+1:], 10, 32); err != nil {
			return nil, false
		}
		text = text[:i]
	}
	whole, fraction, _ := strings.Cut(text, ".")
	digits := whole + fraction
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return nil, false
	}
	digits = strings.TrimLeft(digits, "0")
	// length is the number of digits up to the last place of the type.
	length := int64(len(digits)-len(fraction)+scale) + exponent
	if digits == "" {
		return new(big.Int), true
	}
	if length > int64(precision) {
		return nil, false
	}
	missing := max(0, length-int64(len(digits)))
	kept := max(0, min(length, int64(len(digits))))
	n, _ := new(big.Int).SetString("0"+digits[:kept]+strings.Repeat("0", int(missing)), 10)
	if rest := digits[kept:]; strings.Trim(rest, "0") != "" {
		switch {
		case r == Exact:
			return nil, false
		case r == Floor && negative, r == Ceiling && !negative, r == HalfAway && length >= 0 && rest[0] >= '5':
			if n.Add(n, big.NewInt(1)); length == int64(precision) && len(n.String()) > precision {
				return nil, false
			}
		}
	}
	if negative {
		n.Neg(n)
	}
	return n, true
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
