package staging

import (
	"math"
	"math/bits"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// DayFits reports whether a number of days since 1970-01-01 is of the years 0001 to 9999.
func DayFits(days int64) bool { return days >= sqltype.FirstDay && days <= sqltype.LastDay }

// InstantFits reports whether microseconds since 1970-01-01 are of the years 0001 to 9999.
func InstantFits(micros int64) bool {
	return micros >= sqltype.FirstMicros && micros <= sqltype.LastMicros
}

// Whole appends a whole number, if the type holds it.
func (c *Cells) Whole(v int64) bool {
	switch c.Typ.Kind {
	case kindDecimal:
		return c.Wide(strconv.AppendInt(nil, v, 10), 0)
	case KindFloat, KindDouble:
		digits := 53
		if c.Typ.Kind == KindFloat {
			digits = 24
		}
		magnitude := uint64(v)
		if v < 0 {
			magnitude = -magnitude
		}
		if magnitude != 0 && bits.Len64(magnitude>>bits.TrailingZeros64(magnitude)) > digits {
			return false
		}
		c.float(float64(v))
		return true
	}
	low, high := integerRange(c.Typ.Kind)
	if v < low || v > high {
		return false
	}
	c.integer(v)
	return true
}

// Real appends a floating-point number, if the type holds it.
func (c *Cells) Real(v float64) bool {
	if c.Typ.Kind == KindFloat && float64(float32(v)) != v && !math.IsNaN(v) {
		return false
	}
	c.float(v)
	return true
}

// Rescaled appends a decimal of another scale, if the type holds it.
func (c *Cells) Rescaled(v decimal128.Num, scale int32) bool {
	if scale == c.Typ.scale && v.Abs().Sign() >= 0 && v.FitsInPrecision(c.Typ.precision) {
		c.decimal(v)
		return true
	}
	return c.Wide([]byte(v.BigInt().String()), scale)
}

// Wide appends the number digits × 10^-scale, if the type holds it.
func (c *Cells) Wide(digits []byte, scale int32) bool {
	x, ok := parseNumber(digits)
	if !ok {
		return false
	}
	x.point -= int(scale)
	if c.Typ.Kind == KindFloat || c.Typ.Kind == KindDouble {
		return c.wideFloat(digits)
	}
	if c.Typ.Kind != kindDecimal {
		return false
	}
	v, ok := x.scaled(c.Typ.precision, c.Typ.scale)
	if ok {
		c.decimal(v)
	}
	return ok
}

// wideFloat appends a whole number beyond 64 bits signed.
func (c *Cells) wideFloat(digits []byte) bool {
	v, err := strconv.ParseUint(string(digits), 10, 64)
	digitsHeld := 53
	if c.Typ.Kind == KindFloat {
		digitsHeld = 24
	}
	if err != nil || bits.Len64(v>>bits.TrailingZeros64(v)) > digitsHeld {
		return false
	}
	c.float(float64(v))
	return true
}
