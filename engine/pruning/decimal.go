package pruning

import (
	"math/big"

	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// floatDigits is the number of significant digits that survive float64.
const floatDigits = 15

// decimalValue parses a number as the unscaled integer that a decimal type stores. A number beyond
// the type's precision has a value too.
func decimalValue(text string, t delta.Decimal) (value, bool) {
	n, ok := sqltype.ParseDecimal(text, sqltype.MaxPrecision, t.Scale, sqltype.Exact)
	if !ok {
		return value{}, false
	}
	return stored(n, t)
}

// decimalBound is decimalValue for a bound of statistics, rounded outwards. It allows for writers that computed the
// bound as a float64: a few units in the last of its 53 binary digits.
func decimalBound(text string, t delta.Decimal, r sqltype.Rounding) (value, bool) {
	n, ok := sqltype.ParseDecimal(text, sqltype.MaxPrecision, t.Scale, r)
	if !ok {
		return value{}, false
	}
	if t.Precision > floatDigits {
		slack := new(big.Int).Abs(n)
		slack.Rsh(slack, 50).Add(slack, big.NewInt(1))
		if r == sqltype.Floor {
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
