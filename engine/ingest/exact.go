package ingest

import (
	"math"
	"math/bits"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// whole appends a whole number, if the type holds it.
func (c *cells) whole(v int64) bool {
	switch c.typ.kind {
	case kindDecimal:
		return c.wide(strconv.AppendInt(nil, v, 10), 0)
	case kindFloat, kindDouble:
		digits := 53
		if c.typ.kind == kindFloat {
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
	low, high := integerRange(c.typ.kind)
	if v < low || v > high {
		return false
	}
	c.integer(v)
	return true
}

// real appends a floating-point number, if the type holds it.
func (c *cells) real(v float64) bool {
	if c.typ.kind == kindFloat && float64(float32(v)) != v && !math.IsNaN(v) {
		return false
	}
	c.float(v)
	return true
}

// rescaled appends a decimal of another scale, if the type holds it.
func (c *cells) rescaled(v decimal128.Num, scale int32) bool {
	if scale == c.typ.scale && v.Abs().Sign() >= 0 && v.FitsInPrecision(c.typ.precision) {
		c.decimal(v)
		return true
	}
	return c.wide([]byte(v.BigInt().String()), scale)
}

// wide appends the number digits × 10^-scale, if the type holds it.
func (c *cells) wide(digits []byte, scale int32) bool {
	x, ok := parseNumber(digits)
	if !ok {
		return false
	}
	x.point -= int(scale)
	if c.typ.kind == kindFloat || c.typ.kind == kindDouble {
		return c.wideFloat(digits)
	}
	if c.typ.kind != kindDecimal {
		return false
	}
	v, ok := x.scaled(c.typ.precision, c.typ.scale)
	if ok {
		c.decimal(v)
	}
	return ok
}

// wideFloat appends a whole number beyond 64 bits signed.
func (c *cells) wideFloat(digits []byte) bool {
	v, err := strconv.ParseUint(string(digits), 10, 64)
	digitsHeld := 53
	if c.typ.kind == kindFloat {
		digitsHeld = 24
	}
	if err != nil || bits.Len64(v>>bits.TrailingZeros64(v)) > digitsHeld {
		return false
	}
	c.float(float64(v))
	return true
}
