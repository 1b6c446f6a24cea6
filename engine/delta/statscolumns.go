package delta

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// columnList is what every writer reads alike in a property that lists columns;
// [parseColumns] reads more.
var columnList = regexp.MustCompile("^$|^ *" + columnPath + "( *, *" + columnPath + ")* *$")

const (
	columnPath = columnWord + `(\.` + columnWord + `)*`
	columnWord = "([\\pL\\pN_]+|`([^`]|``)+`)"
)

// unfitStats says why the columns of delta.dataSkippingStatsColumns cannot be
// those that have statistics. The reference writer makes no other change to the
// properties of a table whose list has such a column.
func unfitStats(schema Struct, partitions []string, list string) string {
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

// typeAt finds the type of a column or a member of structs by names in any case.
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

// hasBounds reports whether statistics can hold a least and a greatest value of
// all that a type holds.
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

// overlaps reports whether one of two paths, as [pathKey] joins them, is the
// other one or lies below it.
func overlaps(a, b string) bool {
	a, b = strings.ToLower(a)+"\x00", strings.ToLower(b)+"\x00"
	return strings.HasPrefix(a, b) || strings.HasPrefix(b, a)
}
