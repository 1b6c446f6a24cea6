package pruning

import (
	"math/big"
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/engine/delta"
)

// rounding is how to round digits that a decimal type cannot hold.
type rounding int

const (
	// exact refuses such digits.
	exact rounding = iota
	down
	up
)

// floatDigits is the number of significant digits that survive float64.
const floatDigits = 15

// decimalValue parses a number, with or without an exponent, as the unscaled integer that a decimal
// type stores.
func decimalValue(text string, t delta.Decimal, r rounding) (value, bool) {
	n, ok := unscaled(text, t.Scale, r)
	if !ok {
		return value{}, false
	}
	return stored(n, t)
}

// decimalBound is decimalValue for a bound of statistics. It allows for writers that computed the
// bound as a float64: a few units in the last of its 53 binary digits.
func decimalBound(text string, t delta.Decimal, r rounding) (value, bool) {
	n, ok := unscaled(text, t.Scale, r)
	if !ok {
		return value{}, false
	}
	if t.Precision > floatDigits {
		slack := new(big.Int).Abs(n)
		slack.Rsh(slack, 50).Add(slack, big.NewInt(1))
		if r == down {
			slack.Neg(slack)
		}
		n.Add(n, slack)
	}
	return stored(n, t)
}

// stored returns the comparable form of n in the type.
func stored(n *big.Int, t delta.Decimal) (value, bool) {
	if t.Precision <= narrowDigits {
		return value{n: n.Int64()}, n.IsInt64()
	}
	// The shift is arithmetic: the halves are those of two's complement.
	high := new(big.Int).Rsh(n, 64)
	low := new(big.Int).Sub(n, new(big.Int).Lsh(high, 64))
	return wide(high.Int64(), low.Uint64()), high.IsInt64()
}

// unscaled multiplies a number by ten to the power of scale, as text.
func unscaled(text string, scale int, r rounding) (*big.Int, bool) {
	const longest, farthest = 100, 100 // no decimal needs more; an exponent could ask for gigabytes
	if len(text) > longest {
		return nil, false
	}
	text, negative := strings.CutPrefix(text, "-")
	exponent := 0
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		var err error
		if exponent, err = strconv.Atoi(text[i+1:]); err != nil || exponent < -farthest || exponent > farthest {
			return nil, false
		}
		text = text[:i]
	}
	whole, fraction, point := strings.Cut(text, ".")
	digits := whole + fraction
	if whole == "" || point && fraction == "" || strings.Trim(digits, "0123456789") != "" {
		return nil, false
	}
	integer, rest := shifted(digits, len(whole)+exponent+scale)
	n, ok := new(big.Int).SetString(integer, 10)
	if !ok {
		return nil, false
	}
	if strings.Trim(rest, "0") != "" {
		if r == exact {
			return nil, false
		}
		if negative == (r == down) {
			n.Add(n, big.NewInt(1))
		}
	}
	if negative {
		n.Neg(n)
	}
	return n, true
}

// shifted splits digits at the point at which the fraction starts.
func shifted(digits string, point int) (integer, rest string) {
	switch {
	case point <= 0:
		return "0", digits
	case point >= len(digits):
		return digits + strings.Repeat("0", point-len(digits)), ""
	}
	return digits[:point], digits[point:]
}
