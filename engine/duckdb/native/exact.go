package native

import (
	"slices"
	"strconv"
	"strings"

	duck "github.com/duckdb/duckdb-go-bindings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// inexact are the types whose values DuckDB changes when it converts them to Arrow, or does not
// convert: the sign of large numbers, the offset of a time, intervals of more than 64 bits of
// nanoseconds. Results have the text of such values.
var inexact = []sqltype.Type{
	sqltype.UHugeInt, sqltype.BigNum, sqltype.Bit, sqltype.TimeTZ, sqltype.Interval, sqltype.Variant, sqltype.Geometry,
}

func isInexact(t sqltype.Type) bool { return slices.Contains(inexact, t) }

// exactType returns the type with VARCHAR in place of inexact types. Parts of a type whose members
// a cast cannot name become VARCHAR as a whole.
func exactType(t sqltype.Type) sqltype.Type {
	if !sqltype.Contains(t, isInexact) {
		return t
	}
	switch t := t.(type) {
	case sqltype.List:
		return sqltype.List{Element: exactType(t.Element)}
	case sqltype.Array:
		return sqltype.Array{Element: exactType(t.Element), Length: t.Length}
	case sqltype.Map:
		return sqltype.Map{Key: exactType(t.Key), Value: exactType(t.Value)}
	case *sqltype.Struct:
		out := &sqltype.Struct{}
		for _, f := range t.Fields {
			if f.Name == "" {
				return sqltype.Varchar
			}
			out.Fields = append(out.Fields, sqltype.Field{Name: f.Name, Type: exactType(f.Type)})
		}
		return out
	}
	return sqltype.Varchar
}

// exactPrefix precedes the original statement in the one that [exactSQL] returns.
const exactPrefix = "FROM ("

// exactSQL returns the statement with exact types in place of the types of its columns, or "" if
// they are exact already. The order of rows stays.
func exactSQL(sql string, columns []engine.Column) string {
	if !slices.ContainsFunc(columns, func(c engine.Column) bool { return sqltype.Contains(c.Type, isInexact) }) {
		return ""
	}
	names, items := make([]string, len(columns)), make([]string, len(columns))
	for i, c := range columns {
		names[i] = "c" + strconv.Itoa(i)
		items[i] = names[i]
		if to := exactType(c.Type); to != c.Type {
			items[i] = "CAST(" + names[i] + " AS " + to.String() + ")"
		}
	}
	return exactPrefix + sql + "\n) AS r(" + strings.Join(names, ", ") + ") SELECT " + strings.Join(items, ", ")
}

// preparedColumns returns the columns of the prepared statement. Types that depend on parameters
// may be unknown.
func (c *Cursor) preparedColumns() []engine.Column {
	columns := make([]engine.Column, duck.PreparedStatementColumnCount(c.prepared))
	for i := range columns {
		at := duck.IdxT(i)
		columns[i] = engine.Column{Name: duck.PreparedStatementColumnName(c.prepared, at),
			Type: takeType(duck.PreparedStatementColumnLogicalType(c.prepared, at)), Nullable: true}
	}
	return columns
}
