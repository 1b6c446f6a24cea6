package write

import (
	"strconv"
	"strings"

	duck "github.com/duckdb/duckdb-go-bindings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/duckdb/native"
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
	defer d.Destroy()
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

// hasNegativeZero returns the condition that a value of the type is or contains a negative
// zero, "" if none can. depth is that of the enclosing lambda.
func hasNegativeZero(value string, t duck.LogicalType, depth int) string {
	switch duck.GetTypeId(t) {
	case duck.TypeFloat, duck.TypeDouble:
		return "(" + value + " = 0 AND signbit(" + value + "))"
	case duck.TypeStruct:
		var members []string
		for i := range duck.StructTypeChildCount(t) {
			member := "struct_extract(" + value + ", " + engine.QuoteString(duck.StructTypeChildName(t, i)) + ")"
			if condition := childHasNegativeZero(member, duck.StructTypeChildType(t, i), depth); condition != "" {
				members = append(members, condition)
			}
		}
		if len(members) == 0 {
			return ""
		}
		return "(" + strings.Join(members, " OR ") + ")"
	case duck.TypeList:
		return anyNegativeZero(value, duck.ListTypeChildType(t), depth)
	case duck.TypeMap:
		var parts []string
		for _, part := range []string{
			anyNegativeZero("map_keys("+value+")", duck.MapTypeKeyType(t), depth),
			anyNegativeZero("map_values("+value+")", duck.MapTypeValueType(t), depth),
		} {
			if part != "" {
				parts = append(parts, part)
			}
		}
		if len(parts) == 0 {
			return ""
		}
		return "(" + strings.Join(parts, " OR ") + ")"
	}
	return ""
}

// anyNegativeZero is [hasNegativeZero] for the elements of a list. It destroys their
// type.
func anyNegativeZero(list string, element duck.LogicalType, depth int) string {
	v := "v" + strconv.Itoa(depth)
	condition := childHasNegativeZero(v, element, depth+1)
	if condition == "" {
		return ""
	}
	return "(len(list_filter(" + list + ", lambda " + v + ": " + condition + ")) > 0)"
}

// childHasNegativeZero is [hasNegativeZero] for types that it destroys.
func childHasNegativeZero(value string, t duck.LogicalType, depth int) string {
	defer duck.DestroyLogicalType(&t)
	return hasNegativeZero(value, t, depth)
}

// metNegativeZero reports whether a query of [withoutNegativeZeros] failed because of a
// negative zero. When one thread fails, DuckDB sometimes reports that it stopped another.
func metNegativeZero(err error, step func() error) bool {
	e := native.AsError(err)
	return e != nil && (strings.Contains(e.Text, negativeZero) || e.Kind == engine.KindInterrupted && step() == nil)
}
