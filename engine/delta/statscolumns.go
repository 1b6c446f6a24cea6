package delta

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// columnList matches the lists of columns that every writer parses alike;
// [parseColumns] accepts more.
var columnList = regexp.MustCompile("^$|^ *" + columnPath + "( *, *" + columnPath + ")* *$")

const (
	columnPath = columnWord + `(\.` + columnWord + `)*`
	columnWord = "([\\pL\\pN_]+|`([^`]|``)+`)"
)

// invalidStatsColumns returns why delta.dataSkippingStatsColumns cannot have the value,
// or "" if it can. The reference writer refuses all changes of properties in a table
// whose list has an invalid column.
func invalidStatsColumns(schema Struct, partitions []string, list string) string {
	var seen []string
	for _, path := range parseColumns(list) {
		name := strings.Join(path, ".")
		t, found := typeAt(schema, path)
		switch {
		case !found:
			return fmt.Sprintf("names %q, which is not a column of the table", name)
		case slices.ContainsFunc(partitions, func(p string) bool { return strings.EqualFold(p, path[0]) }):
			return fmt.Sprintf("names %q, by which the table is partitioned", name)
		case !hasBounds(t):
			return fmt.Sprintf("names %q, which is or holds a type without bounds", name)
		case slices.ContainsFunc(seen, func(s string) bool { return overlaps(s, pathKey(path)) }):
			return fmt.Sprintf("names %q twice", name)
		}
		seen = append(seen, pathKey(path))
	}
	return ""
}

// typeAt returns the type of a column or a nested struct field. Names are
// case-insensitive.
func typeAt(s Struct, path []string) (DataType, bool) {
	var t DataType = s
	for _, name := range path {
		s, is := t.(Struct)
		i := s.index(name)
		if !is || i < 0 {
			return nil, false
		}
		t = s.Fields[i].Type
	}
	return t, true
}

// hasBounds reports whether statistics can hold the minimum and maximum of a type and
// all nested types.
func hasBounds(t DataType) bool {
	switch t := t.(type) {
	case Struct:
		return !slices.ContainsFunc(t.Fields, func(f Field) bool { return !hasBounds(f.Type) })
	case Primitive:
		return t != Boolean && t != Binary && t != Variant && t != Void
	case Decimal:
		return true
	}
	return false
}

// overlaps reports whether one of two paths, in the form of [pathKey], is equal to or
// nested in the other.
func overlaps(a, b string) bool {
	a, b = strings.ToLower(a)+"\x00", strings.ToLower(b)+"\x00"
	return strings.HasPrefix(a, b) || strings.HasPrefix(b, a)
}
