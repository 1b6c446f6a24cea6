package policy

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
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

var classNames = map[Class]string{
	classOther: "this type", classBoolean: "boolean", ClassText: "text", classInteger: "integer",
	classDecimal: "decimal", ClassDate: "date", classTimestamp: "timestamp",
}

// ColumnType holds the properties of a column's type that policies depend on.
type ColumnType struct {
	Class Class
	// SQL is the type's name for a cast.
	SQL string
	// min and max bound an integer.
	min, max int64
	// precision and scale describe a decimal.
	precision, scale int
	// Zoned marks a timestamp with time zone.
	Zoned bool
}

var integerTypes = map[string]ColumnType{
	"TINYINT":   {Class: classInteger, SQL: "TINYINT", min: math.MinInt8, max: math.MaxInt8},
	"SMALLINT":  {Class: classInteger, SQL: "SMALLINT", min: math.MinInt16, max: math.MaxInt16},
	"INTEGER":   {Class: classInteger, SQL: "INTEGER", min: math.MinInt32, max: math.MaxInt32},
	"BIGINT":    {Class: classInteger, SQL: "BIGINT", min: math.MinInt64, max: math.MaxInt64},
	"UTINYINT":  {Class: classInteger, SQL: "UTINYINT", max: math.MaxUint8},
	"USMALLINT": {Class: classInteger, SQL: "USMALLINT", max: math.MaxUint16},
	"UINTEGER":  {Class: classInteger, SQL: "UINTEGER", max: math.MaxUint32},
}

// ParseType reads a type as DuckDB prints it. The class of a type without comparable
// values, and of decimals beyond Cedar's four fractional digits, is classOther.
func ParseType(name string) ColumnType {
	name = strings.ToUpper(strings.TrimSpace(name))
	if t, ok := integerTypes[name]; ok {
		return t
	}
	switch name {
	case "BOOLEAN":
		return ColumnType{Class: classBoolean, SQL: name}
	case "VARCHAR":
		return ColumnType{Class: ClassText, SQL: name}
	case "DATE":
		return ColumnType{Class: ClassDate, SQL: name}
	case "TIMESTAMP":
		return ColumnType{Class: classTimestamp, SQL: name}
	case "TIMESTAMP WITH TIME ZONE":
		return ColumnType{Class: classTimestamp, SQL: name, Zoned: true}
	}
	if inner, ok := strings.CutPrefix(name, "DECIMAL("); ok && strings.HasSuffix(inner, ")") {
		p, s, _ := strings.Cut(strings.TrimSuffix(inner, ")"), ",")
		precision, err1 := strconv.Atoi(strings.TrimSpace(p))
		scale, err2 := strconv.Atoi(strings.TrimSpace(s))
		if err1 == nil && err2 == nil && precision > 0 && precision <= 38 && scale >= 0 && scale <= 4 && scale <= precision {
			return ColumnType{Class: classDecimal, SQL: fmt.Sprintf("DECIMAL(%d,%d)", precision, scale), precision: precision, scale: scale}
		}
	}
	return ColumnType{}
}

// Supports reports whether values of the class have the operator.
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

// FindColumn returns the column that DuckDB finds under a name, in any ASCII case. An
// exact name wins. A name that fits several columns finds none.
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

// HasColumn reports whether name is the name of any of columns, in any ASCII case. It
// is true for a name that fits several: a policy about it applies, although it cannot be
// decided.
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
