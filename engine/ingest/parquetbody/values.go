package parquetbody

import (
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/ingest/staging"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// reason is why a table cannot hold a value of a file.
type reason int64

const (
	// lossy is the reason of a value that its column's type changes.
	lossy reason = iota
	outsideCalendar
	sameKey
	nullKey
	// longRow is that of a row, whatever its columns.
	longRow
	reasons
)

// message returns the text of a problem in a column.
func (r reason) message(column engine.Column) string {
	switch r {
	case outsideCalendar:
		return staging.OutsideCalendar
	case sameKey:
		return staging.SameKey
	case nullKey:
		return staging.NullKey
	}
	return "the value does not become " + column.Type.String() + " without loss"
}

// violation is a condition, in SQL, of values for which there is a reason.
type violation struct {
	condition string
	reason    reason
}

// calendars holds the condition of values whose year is outside 0001 to 9999, among them infinity.
var calendars = map[sqltype.Type]string{
	sqltype.Date:        " NOT BETWEEN DATE '0001-01-01' AND DATE '9999-12-31'",
	sqltype.Timestamp:   " NOT BETWEEN TIMESTAMP '0001-01-01' AND TIMESTAMP '9999-12-31 23:59:59.999999'",
	sqltype.TimestampTZ: " NOT BETWEEN TIMESTAMPTZ '0001-01-01 00:00:00+00' AND TIMESTAMPTZ '9999-12-31 23:59:59.999999+00'",
}

// violations returns what a value of a table's type may violate although the file's type has no
// such rule. depth is that of the lambda around it.
func violations(value string, t sqltype.Type, depth int) []violation {
	var out []violation
	// among adds the violations of the elements of a list.
	among := func(list string, element sqltype.Type) {
		v := "v" + strconv.Itoa(depth)
		for _, inside := range violations(v, element, depth+1) {
			out = append(out, violation{"len(list_filter(" + list + ", lambda " + v + ": " + inside.condition + ")) > 0", inside.reason})
		}
	}
	switch t := t.(type) {
	case sqltype.List:
		among(value, t.Element)
	case sqltype.Map:
		keys := "map_keys(" + value + ")"
		distinct := keys
		if t.Key == sqltype.Float || t.Key == sqltype.Double { // all NaN are equal, and so are both zeros
			distinct = "list_transform(" + keys + ", lambda k: (k + 0)::VARCHAR)"
		}
		out = append(out, violation{"len(" + keys + ") <> list_count(" + keys + ")", nullKey},
			violation{"list_count(" + keys + ") <> len(list_distinct(" + distinct + "))", sameKey})
		among(keys, t.Key)
		among("map_values("+value+")", t.Value)
	case *sqltype.Struct:
		for _, f := range t.Fields {
			out = append(out, violations("struct_extract("+value+", "+engine.QuoteString(f.Name)+")", f.Type, depth)...)
		}
	default:
		if outside, ok := calendars[t]; ok {
			out = append(out, violation{value + outside, outsideCalendar})
		}
	}
	return out
}

// valueBytes is the size that a value of fixed width counts.
const valueBytes = 8

// size returns SQL for the size of a value, and whether it depends on the value.
func size(value string, t sqltype.Type, depth int) (sql string, varies bool) {
	fixed := strconv.Itoa(valueBytes)
	elements := func(list string, element sqltype.Type) string {
		v := "v" + strconv.Itoa(depth)
		one, varies := size(v, element, depth+1)
		if !varies {
			return "coalesce(len(" + list + "), 0) * " + one
		}
		return "coalesce(list_sum(list_transform(" + list + ", lambda " + v + ": " + one + ")), 0)"
	}
	switch t := t.(type) {
	case sqltype.List:
		return elements(value, t.Element), true
	case sqltype.Array:
		return elements(value, t.Element), true
	case sqltype.Map:
		return elements("map_keys("+value+")", t.Key) + " + " + elements("map_values("+value+")", t.Value), true
	case *sqltype.Struct:
		var parts []string
		for _, f := range t.Fields {
			part, partVaries := size("struct_extract("+value+", "+engine.QuoteString(f.Name)+")", f.Type, depth)
			parts, varies = append(parts, part), varies || partVaries
		}
		return "(" + strings.Join(append(parts, fixed), " + ") + ")", varies
	}
	switch t {
	case sqltype.Varchar, sqltype.JSON:
		return "coalesce(strlen(" + value + "), 0)", true
	case sqltype.Blob:
		return "coalesce(octet_length(" + value + "), 0)", true
	}
	return fixed, false
}
