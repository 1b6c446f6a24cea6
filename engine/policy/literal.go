package policy

import (
	"strings"
	"time"

	"github.com/cedar-policy/cedar-go/types"
)

// literalKind returns the name of a literal's type for messages.
func literalKind(v types.Value) string {
	switch v.(type) {
	case types.Boolean:
		return "a boolean"
	case types.String:
		return "a string"
	case types.Long:
		return "an integer"
	case types.Decimal:
		return "a decimal"
	case types.Datetime:
		return "a datetime"
	}
	return "a value"
}

// Reading is how the literals of a text are read.
type Reading int

const (
	// ReadTyped is Cedar's way, for texts that were written as such: each literal has one type.
	ReadTyped Reading = iota
	// ReadNotation is the way of a definition, for texts that were made from one: a number is an
	// integer or a decimal, and a string can be a decimal or a point in time in the notation of
	// its column.
	ReadNotation
)

// Literal returns the value that a literal of a text has for a column of the type. It returns
// false if the literal is of another type. The value can have more digits than the column, or
// lie outside its range; see [ColumnType.Narrow].
func (r Reading) Literal(t ColumnType, v types.Value) (types.Value, bool) {
	ok := false
	switch v := v.(type) {
	case types.Boolean:
		return v, t.Class == classBoolean
	case types.String:
		switch {
		case t.Class == ClassText:
			return v, Storable(string(v))
		case r == ReadTyped:
		case t.Class == classDecimal:
			return asDecimal(v)
		case t.Class == ClassDate, t.Class == classTimestamp:
			return asDatetime(v)
		}
	case types.Long:
		if t.Class != classDecimal || r == ReadTyped {
			return v, t.Class == classInteger
		}
		if d, ok := asDecimal(v); ok {
			return d, true
		}
		return v, true // beyond Cedar's decimals
	case types.Decimal:
		return v, t.Class == classDecimal
	case types.Datetime:
		_, ok = asDatetime(v)
		return v, ok && (t.Class == ClassDate || t.Class == classTimestamp)
	}
	return nil, false
}

// Narrow returns a comparison with a value of the column's type that holds for the same values
// of the column as op with v. v must be of a type that fits the column, but can have more digits
// than the column, or lie outside its range. If the comparison has one result for all values of
// the column, the returned value is nil and holds is the result.
func (t ColumnType) Narrow(op Op, v types.Value) (as Op, value types.Value, holds bool) {
	near, side := t.nearest(v)
	greater := op == OpGt || op == OpGte
	switch {
	case side == 0:
		return op, near, false
	case op == OpEq, op == OpNeq:
		return op, nil, op == OpNeq
	case near == nil:
		return op, nil, greater == (side < 0)
	case greater && side < 0:
		return OpGte, near, false
	case greater:
		return OpGt, near, false
	case side < 0:
		return OpLt, near, false
	}
	return OpLte, near, false
}

// Has reports whether v, which is of a type that fits the column, is a value of the column's type.
func (t ColumnType) Has(v types.Value) bool {
	_, side := t.nearest(v)
	return side == 0
}

// nearest returns a value of the column's type next to v, and the side of it on which v lies: 0 if
// they are equal. If all values of the type are on the other side of v, the value is nil.
func (t ColumnType) nearest(v types.Value) (near types.Value, side int) {
	switch t.Class {
	case classInteger:
		switch n, _ := v.(types.Long); {
		case int64(n) < t.min:
			return nil, -1
		case int64(n) > t.max:
			return nil, 1
		}
	case classDecimal:
		return t.nearestDecimal(v)
	case ClassDate:
		d, _ := v.(types.Datetime)
		day := d.Time().UTC().Truncate(24 * time.Hour)
		return types.NewDatetime(day), d.Time().Compare(day)
	}
	return v, 0
}

// nearestDecimal omits the digits that the type lacks.
func (t ColumnType) nearestDecimal(v types.Value) (near types.Value, side int) {
	_, isDecimal := v.(types.Decimal) // or an integer beyond Cedar's decimals
	number, negative := strings.CutPrefix(v.String(), "-")
	sign := ""
	if side = 1; negative {
		sign, side = "-", -1
	}
	whole, fraction, _ := strings.Cut(number, ".")
	if len(strings.TrimLeft(whole, "0")) > t.precision-t.scale {
		return nil, side
	}
	if !isDecimal || len(strings.TrimRight(fraction, "0")) <= t.scale {
		return v, 0
	}
	near, _ = parseDecimal(sign + whole + "." + fraction[:t.scale] + "0")
	return near, side
}
