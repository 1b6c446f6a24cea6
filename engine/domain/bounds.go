package domain

import (
	"errors"
	"math/big"

	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// Bounds limit the values of a column. An empty bound does not limit.
type Bounds struct {
	Min, Max string
	// Inclusive reports that the bounds themselves are allowed.
	Inclusive bool
}

// BoundError reports a bound that is not a value of the column's type, or bounds that
// together are no range. Its message is for the caller.
type BoundError struct {
	// Field is "min", "max", or empty if the bounds together are wrong.
	Field, Reason string
}

// Error returns the reason.
func (e *BoundError) Error() string { return e.Reason }

// CanonicalBounds returns bounds in canonical texts. The error is a [BoundError].
func CanonicalBounds(t delta.DataType, b Bounds) (Bounds, error) {
	if b.Min == "" && b.Max == "" {
		return b, &BoundError{Reason: "must have a minimum or a maximum"}
	}
	for _, bound := range []struct {
		field string
		text  *string
	}{{"min", &b.Min}, {"max", &b.Max}} {
		if *bound.text == "" {
			continue
		}
		text, err := Canonical(t, *bound.text)
		var refused *ValueError
		if errors.As(err, &refused) {
			return b, &BoundError{Field: bound.field, Reason: refused.Reason}
		}
		*bound.text = text
	}
	if b.Min == "" || b.Max == "" {
		return b, nil
	}
	low, high := position(t, b.Min), position(t, b.Max)
	width := high.Sub(high, low)
	if width.Sign() < 0 || !b.Inclusive && width.Cmp(step(t)) <= 0 {
		return b, &BoundError{Field: "max", Reason: "leaves no value in the range"}
	}
	return b, nil
}

// position returns the place of a canonical text among the values of its type.
func position(t delta.DataType, canonical string) *big.Rat {
	switch t {
	case delta.Date:
		at, _ := sqltype.ParseDate(canonical)
		return big.NewRat(at.Unix()/secondsOfDay, 1)
	case delta.Timestamp:
		at, _ := sqltype.ParseInstant(canonical)
		return big.NewRat(at.UnixMicro(), 1)
	case delta.TimestampNTZ:
		at, _ := sqltype.ParseTimestamp(canonical)
		return big.NewRat(at.UnixMicro(), 1)
	}
	n, _ := new(big.Rat).SetString(canonical)
	return n
}

const secondsOfDay = 24 * 60 * 60

// step returns the distance between neighbouring values of a type, or 0 for
// floating-point types.
func step(t delta.DataType) *big.Rat {
	switch t := t.(type) {
	case delta.Decimal:
		return new(big.Rat).SetFrac(big.NewInt(1), new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(t.Scale)), nil))
	case delta.Primitive:
		if t == delta.Float || t == delta.Double {
			return new(big.Rat)
		}
	}
	return big.NewRat(1, 1)
}
