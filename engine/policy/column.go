package policy

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
)

// class is a family of column types with common operators.
type class int

const (
	// classOther has no comparable values: only presence can be tested.
	classOther class = iota
	classBoolean
	classText
	classInteger
	classDecimal
	classDate
	// classTimestamp covers both timestamp types; one without a zone is read
	// as UTC.
	classTimestamp
)

var classNames = map[class]string{
	classOther: "this type", classBoolean: "boolean", classText: "text", classInteger: "integer",
	classDecimal: "decimal", classDate: "date", classTimestamp: "timestamp",
}

// columnType is a column's type as far as policies care.
type columnType struct {
	class class
	// sql is the type's name for a cast.
	sql string
	// min and max bound an integer.
	min, max int64
	// precision and scale describe a decimal.
	precision, scale int
	// zoned marks a timestamp with time zone.
	zoned bool
}

var integerTypes = map[string]columnType{
	"TINYINT":   {class: classInteger, sql: "TINYINT", min: math.MinInt8, max: math.MaxInt8},
	"SMALLINT":  {class: classInteger, sql: "SMALLINT", min: math.MinInt16, max: math.MaxInt16},
	"INTEGER":   {class: classInteger, sql: "INTEGER", min: math.MinInt32, max: math.MaxInt32},
	"BIGINT":    {class: classInteger, sql: "BIGINT", min: math.MinInt64, max: math.MaxInt64},
	"UTINYINT":  {class: classInteger, sql: "UTINYINT", max: math.MaxUint8},
	"USMALLINT": {class: classInteger, sql: "USMALLINT", max: math.MaxUint16},
	"UINTEGER":  {class: classInteger, sql: "UINTEGER", max: math.MaxUint32},
}

// parseType reads a type as DuckDB prints it. Types that are not listed, and
// decimals beyond Cedar's four fractional digits, are classOther.
func parseType(name string) columnType {
	name = strings.ToUpper(strings.TrimSpace(name))
	if t, ok := integerTypes[name]; ok {
		return t
	}
	switch name {
	case "BOOLEAN":
		return columnType{class: classBoolean, sql: name}
	case "VARCHAR":
		return columnType{class: classText, sql: name}
	case "DATE":
		return columnType{class: classDate, sql: name}
	case "TIMESTAMP":
		return columnType{class: classTimestamp, sql: name}
	case "TIMESTAMP WITH TIME ZONE":
		return columnType{class: classTimestamp, sql: name, zoned: true}
	}
	if inner, ok := strings.CutPrefix(name, "DECIMAL("); ok && strings.HasSuffix(inner, ")") {
		p, s, _ := strings.Cut(strings.TrimSuffix(inner, ")"), ",")
		precision, err1 := strconv.Atoi(strings.TrimSpace(p))
		scale, err2 := strconv.Atoi(strings.TrimSpace(s))
		if err1 == nil && err2 == nil && precision > 0 && precision <= 38 && scale >= 0 && scale <= 4 && scale <= precision {
			return columnType{class: classDecimal, sql: fmt.Sprintf("DECIMAL(%d,%d)", precision, scale), precision: precision, scale: scale}
		}
	}
	return columnType{}
}

// supports reports whether values of the class have the operator.
func (c class) supports(op Op) bool {
	switch {
	case !op.needsOperand():
		return true
	case c == classOther:
		return false
	case op.pattern():
		return c == classText
	case op.ordered():
		return c != classText && c != classBoolean
	}
	return true
}

// findColumn looks a column up as DuckDB does: ASCII case does not matter. An
// exact name wins; a name that fits several columns fits none.
func findColumn(columns []engine.Column, name string) (engine.Column, bool) {
	var found engine.Column
	n := 0
	for _, c := range columns {
		if c.Name == name {
			return c, true
		}
		if foldASCII(c.Name) == foldASCII(name) {
			found = c
			n++
		}
	}
	return found, n == 1
}

// HasColumn reports whether a policy's column names any of columns; ASCII case
// does not matter. A name that fits several is there too: a policy about it
// applies, and decides nothing.
func HasColumn(columns []engine.Column, name string) bool {
	return slices.ContainsFunc(columns, func(c engine.Column) bool { return foldASCII(c.Name) == foldASCII(name) })
}

func foldASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}
