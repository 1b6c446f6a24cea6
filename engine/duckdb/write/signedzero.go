package write

import (
	"slices"
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/duckdb/native"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// DuckDB's dictionaries identify numbers that compare equal: if a column has 0.0 and -0.0, all
// those rows get the one that came first. So a query with floating-point columns is written
// with dictionaries only while it has no negative zero. A query that has one, which is rare,
// ends with the error below and is written again without dictionaries.

// negativeZero is the text of that error.
const negativeZero = "lakewarden: negative zero"

// withoutNegativeZeros returns sql made to fail at a negative zero, or sql itself if no column
// can hold one.
func withoutNegativeZeros(in *native.Instance, sql string) (string, error) {
	d, err := in.Describe(sql)
	if err != nil {
		return "", err
	}
	items, names, found := make([]string, len(d.Names)), make([]string, len(d.Names)), false
	for i, name := range d.Names {
		names[i] = "c" + strconv.Itoa(i)
		items[i] = names[i]
		if condition := hasNegativeZero(names[i], d.Types[i], 0); condition != "" {
			found = true
			items[i] = "CASE WHEN " + condition + " THEN error(" + engine.QuoteString(negativeZero) + ") ELSE " + names[i] + " END"
		}
		items[i] += " AS " + engine.QuoteIdent(name)
	}
	if !found {
		return sql, nil
	}
	return "SELECT " + strings.Join(items, ", ") + " FROM (" + sql + "\n) AS q(" + strings.Join(names, ", ") + ")", nil
}

// hasNegativeZero is the condition that a value of the type is a negative zero or
// holds one; "" when none can. depth is that of the lambda around it.
func hasNegativeZero(value string, t sqltype.Type, depth int) string {
	var parts []string
	switch t := t.(type) {
	case sqltype.Scalar:
		if t == sqltype.Float || t == sqltype.Double {
			return "(" + value + " = 0 AND signbit(" + value + "))"
		}
	case *sqltype.Struct:
		for _, f := range t.Fields {
			parts = append(parts, hasNegativeZero("struct_extract("+value+", "+engine.QuoteString(f.Name)+")", f.Type, depth))
		}
	case sqltype.List:
		return anyNegativeZero(value, t.Element, depth)
	case sqltype.Map:
		parts = []string{anyNegativeZero("map_keys("+value+")", t.Key, depth), anyNegativeZero("map_values("+value+")", t.Value, depth)}
	}
	parts = slices.DeleteFunc(parts, func(part string) bool { return part == "" })
	if len(parts) == 0 {
		return ""
	}
	return "(" + strings.Join(parts, " OR ") + ")"
}

// anyNegativeZero is [hasNegativeZero] for the elements of a list.
func anyNegativeZero(list string, element sqltype.Type, depth int) string {
	v := "v" + strconv.Itoa(depth)
	condition := hasNegativeZero(v, element, depth+1)
	if condition == "" {
		return ""
	}
	return "(len(list_filter(" + list + ", lambda " + v + ": " + condition + ")) > 0)"
}

// metNegativeZero reports whether a query of [withoutNegativeZeros] failed
// because it has one. When one thread fails, the engine now and then reports that it
// stopped another.
func metNegativeZero(err error, step func() error) bool {
	e := native.AsError(err)
	return e != nil && (strings.Contains(e.Text, negativeZero) || e.Kind == engine.KindInterrupted && step() == nil)
}
