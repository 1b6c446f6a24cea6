package scan

import (
	"slices"
	"strconv"
	"strings"

	duck "github.com/duckdb/duckdb-go-bindings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/duckdb/variant"
)

// typeText returns the type that DuckDB is given, with every name that a member has in some
// file. It returns false if one name would need two types.
func (p *part) typeText() (string, bool) {
	texts := make([]string, len(p.children))
	for i, c := range p.children {
		text, ok := c.typeText()
		if !ok {
			return "", false
		}
		texts[i] = text
	}
	switch p.kind {
	case duck.TypeList:
		return texts[0] + "[]", true
	case duck.TypeMap:
		return "MAP(" + texts[0] + ", " + texts[1] + ")", true
	case duck.TypeStruct:
		return p.structText(texts)
	}
	return p.scalar, true
}

func (p *part) structText(texts []string) (string, bool) {
	var items []string
	types := map[string]string{}
	add := func(name, typ string) bool {
		lower := strings.ToLower(name)
		if have, known := types[lower]; known {
			return have == typ
		}
		types[lower] = typ
		items = append(items, engine.QuoteIdent(name)+" "+typ)
		return true
	}
	for i, c := range p.children {
		for _, f := range c.called {
			other := func(typ string) bool { return typ != texts[i] }
			if !add(f.name, texts[i]) || slices.ContainsFunc(p.foreign[strings.ToLower(f.name)], other) {
				return "", false
			}
		}
	}
	// DuckDB reads a file if it has one member, and every value casts to text.
	for _, name := range p.others {
		if _, known := types[strings.ToLower(name)]; !known {
			add(name, "VARCHAR")
		}
	}
	if len(items) == 0 { // no file has the column
		for i, c := range p.children {
			add(c.stored, texts[i])
		}
	}
	return "STRUCT(" + strings.Join(items, ", ") + ")", true
}

// value returns SQL for the table's value, given SQL for the value that DuckDB reads. depth is
// that of the enclosing lambda.
func (p *part) value(read string, depth int) string {
	if p.isPlain() {
		return read
	}
	v := "v" + strconv.Itoa(depth)
	switch p.kind {
	case duck.TypeVariant:
		return variant.SQL(read, inFiles(p.wrapped))
	case duck.TypeList:
		return "list_transform(" + read + ", lambda " + v + ": " + p.children[0].value(v, depth+1) + ")"
	case duck.TypeMap:
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
		return "NULL::" + c.tableType()
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

// tableType returns the type of the part in the table.
func (p *part) tableType() string {
	switch p.kind {
	case duck.TypeList:
		return p.children[0].tableType() + "[]"
	case duck.TypeMap:
		return "MAP(" + p.children[0].tableType() + ", " + p.children[1].tableType() + ")"
	case duck.TypeStruct:
		items := make([]string, len(p.children))
		for i, c := range p.children {
			items[i] = engine.QuoteIdent(c.name) + " " + c.tableType()
		}
		return "STRUCT(" + strings.Join(items, ", ") + ")"
	case duck.TypeVariant:
		return "VARCHAR"
	}
	return p.scalar
}
