package policy

import (
	"math"
	"slices"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// Class is a family of column types that have the same operators.
type Class int

// The classes.
const (
	// classOther has no comparable values: only presence can be tested.
	classOther Class = iota
	classBoolean
	ClassText
	classInteger
	classDecimal
	ClassDate
	// classTimestamp covers both timestamp types; one without a zone is read
	// as UTC.
	classTimestamp
)

// ColumnType holds the properties of a column's type that policies depend on.
type ColumnType struct {
	Class Class
	// SQL is the type for a cast.
	SQL sqltype.Type
	// min and max bound an integer.
	min, max int64
	// precision and scale describe a decimal.
	precision, scale int
	// Zoned marks a timestamp with time zone.
	Zoned bool
}

// maxScale is the number of Cedar's fractional digits.
const maxScale = 4

// Classify returns the properties of a type. Types that are not listed, and decimals with more
// fractional digits than Cedar's, are classOther.
func Classify(typ sqltype.Type) ColumnType {
	switch typ {
	case sqltype.Boolean:
		return ColumnType{Class: classBoolean, SQL: typ}
	case sqltype.Varchar:
		return ColumnType{Class: ClassText, SQL: typ}
	case sqltype.Date:
		return ColumnType{Class: ClassDate, SQL: typ}
	case sqltype.Timestamp, sqltype.TimestampTZ:
		return ColumnType{Class: classTimestamp, SQL: typ, Zoned: typ == sqltype.TimestampTZ}
	}
	if d, ok := typ.(sqltype.Decimal); ok && d.Scale <= maxScale {
		return ColumnType{Class: classDecimal, SQL: typ, precision: d.Precision, scale: d.Scale}
	}
	switch bits, signed := sqltype.IntegerBits(typ); {
	case signed && bits <= 64:
		return ColumnType{Class: classInteger, SQL: typ, min: math.MinInt64 >> (64 - bits), max: math.MaxInt64 >> (64 - bits)}
	case bits > 0 && bits <= 32:
		return ColumnType{Class: classInteger, SQL: typ, max: math.MaxUint32 >> (32 - bits)}
	}
	return ColumnType{}
}

// Supports reports whether the class has the operator.
func (c Class) Supports(op Op) bool {
	switch {
	case !op.NeedsOperand():
		return true
	case c == classOther:
		return false
	case op.pattern():
		return c == ClassText
	case op.ordered():
		return c != ClassText && c != classBoolean
	}
	return true
}

// FindColumn returns the column that DuckDB finds under a name, in any ASCII case. An exact name
// has precedence. If a name matches several columns inexactly, there is no result.
func FindColumn(columns []engine.Column, name string) (engine.Column, bool) {
	var found engine.Column
	n := 0
	for _, c := range columns {
		if c.Name == name {
			return c, true
		}
		if FoldName(c.Name) == FoldName(name) {
			found = c
			n++
		}
	}
	return found, n == 1
}

// HasColumn reports whether name is the name of any of columns, in any ASCII case. It is true for a
// name that matches several: a policy about it applies, although it cannot be decided.
func HasColumn(columns []engine.Column, name string) bool {
	return slices.ContainsFunc(columns, func(c engine.Column) bool { return FoldName(c.Name) == FoldName(name) })
}

// FoldName returns a name with its ASCII letters in lower case.
func FoldName(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}
