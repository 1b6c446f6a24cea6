package scan

import (
	"slices"
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/duckdb/variant"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// told returns the type that DuckDB is given, with every name that a member has in some
// file. It returns false if one name would need two types.
func (p *part) told() (sqltype.Type, bool) {
	if p.variant {
		return sqltype.Variant, true
	}
	types := make([]sqltype.Type, len(p.children))
	for i, c := range p.children {
		var ok bool
		if types[i], ok = c.told(); !ok {
			return nil, false
		}
	}
	switch p.typ.(type) {
	case sqltype.List:
		return sqltype.List{Element: types[0]}, true
	case sqltype.Map:
		return sqltype.Map{Key: types[0], Value: types[1]}, true
	case *sqltype.Struct:
		return p.toldMembers(types)
	}
	return p.typ, true
}

func (p *part) toldMembers(types []sqltype.Type) (sqltype.Type, bool) {
	out := &sqltype.Struct{}
	known := map[string]sqltype.Type{}
	add := func(name string, typ sqltype.Type) bool {
		lower := strings.ToLower(name)
		if have := known[lower]; have != nil {
			return sqltype.Equal(have, typ)
		}
		known[lower] = typ
		out.Fields = append(out.Fields, sqltype.Field{Name: name, Type: typ})
		return true
	}
	for i, c := range p.children {
		for _, f := range c.called {
			other := func(typ sqltype.Type) bool { return !sqltype.Equal(typ, types[i]) }
			if !add(f.name, types[i]) || slices.ContainsFunc(p.foreign[strings.ToLower(f.name)], other) {
				return nil, false
			}
		}
	}
	// One member is enough for the engine to read a file, and every value has a text.
	for _, name := range p.others {
		if known[strings.ToLower(name)] == nil {
			add(name, sqltype.Varchar)
		}
	}
	if len(out.Fields) == 0 { // no file has the column
		for i, c := range p.children {
			add(c.stored, types[i])
		}
	}
	return out, true
}

// value returns SQL for the table's value, given SQL for the value that DuckDB reads. depth is
// that of the enclosing lambda.
func (p *part) value(read string, depth int) string {
	if p.isPlain() {
		return read
	}
	v := "v" + strconv.Itoa(depth)
	if p.variant {
		return variant.SQL(read, inFiles(p.wrapped))
	}
	switch p.typ.(type) {
	case sqltype.List:
		return "list_transform(" + read + ", lambda " + v + ": " + p.children[0].value(v, depth+1) + ")"
	case sqltype.Map:
		entry := "{'key': " + p.children[0].value(v+".key", depth+1) + ", 'value': " + p.children[1].value(v+".value", depth+1) + "}"
		return unlessNull(read, "map_from_entries(list_transform(map_entries("+read+"), lambda "+v+": "+entry+"))")
	}
	items := make([]string, len(p.children))
	for i, c := range p.children {
		items[i] = engine.QuoteString(c.name) + ": " + p.member(c, read, depth)
	}
	return unlessNull(read, "{"+strings.Join(items, ", ")+"}")
}

// member returns SQL for a member of a struct. If its name is ambiguous, the number of the
// file decides.
func (p *part) member(c *part, read string, depth int) string {
	extract := func(name string) string {
		return c.value("struct_extract("+read+", "+engine.QuoteString(name)+")", depth)
	}
	if len(c.called) == 0 {
		return "NULL::" + c.typ.String()
	}
	if only := c.called[0].name; len(c.called) == 1 && !p.ambiguous[strings.ToLower(only)] {
		return extract(only)
	}
	var b strings.Builder
	b.WriteString("CASE")
	for _, f := range c.called {
		b.WriteString(" WHEN " + inFiles(f.files) + " THEN " + extract(f.name))
	}
	return b.String() + " ELSE NULL END"
}

// inFiles returns SQL for the condition that a row is in one of the files.
func inFiles(files []int) string {
	if len(files) == 0 {
		return "false"
	}
	numbers := make([]string, len(files))
	for i, n := range files {
		numbers[i] = strconv.Itoa(n)
	}
	return "f." + fileIndex + "::BIGINT IN (" + strings.Join(numbers, ", ") + ")"
}
