package scan

import (
	"slices"
	"strconv"
	"strings"

	duck "github.com/duckdb/duckdb-go-bindings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/duckdb/native"
	"github.com/lakewarden/lakewarden/engine/duckdb/variant"
)

// The engine finds columns by field id, and members of structs by name only; and it
// reads no file that has none of a struct's members. So where files may have members
// under other names, or other ones, they are looked into, and the engine is told a
// type of the column that has whatever name a member goes by in some file. The values
// of the table's members are taken out of that.
//
// A variant is a group in a file, which may be marked as a variant or not. The engine
// reads an unmarked group as a struct, and makes a variant of that struct if it is told
// that the column is a variant. So the files are looked into for variants too.

// part is a nested column, or a part of one, with what the files have for it.
type part struct {
	kind duck.Type
	// scalar is the SQL type of what has no parts, scale that of a decimal.
	scalar string
	scale  uint8
	// stored and name are the names of a member by the log and in the table.
	stored, name string
	id           int
	// children are members, the element, or key and value.
	children []*part
	// called are the names that a member has in files, with the files.
	called []fileName
	// others are members of files that are none of the table's, one for each file
	// that has nothing but such.
	others []string
	// taken says which member a name of a file's member stands for, by its lower case:
	// -1 is none of the table's. ambiguous are those that stand for several.
	taken     map[string]int
	ambiguous map[string]bool
	// foreign are the types under names of members that are none of the table's.
	foreign map[string][]string
	// void reports that the part is NULL, whatever files hold.
	void bool
	// wrapped holds the files that do not mark the part as a variant although it is one.
	wrapped []int
}

type fileName struct {
	name  string
	files []int
}

// lookInside makes the scan read the nested columns of all its files, whose members
// may have several names, if it is to.
func (v *Views) lookInside(s *fileScan) error {
	if s.parts == nil {
		return nil
	}
	stored, err := v.inst.Describe(emptyQuery(s.stored))
	if err != nil {
		return err
	}
	defer stored.Destroy()
	table, err := v.inst.Describe(emptyQuery(s.inFile))
	if err != nil {
		return err
	}
	defer table.Destroy()
	s.inside = make([]*part, len(s.stored))
	for i := range s.stored {
		p, ok := newPart(stored.Types[i], table.Types[i], s.parts[i])
		if !ok {
			return fileSchemaError("column " + s.inFile[i].Name + " is " + s.stored[i].Type + " in files, and " + s.inFile[i].Type + " in the table")
		}
		if !p.isPlain() {
			s.inside[i] = p
		}
		if p.hasVariants() {
			if err := v.registerVariants(); err != nil {
				return err
			}
		}
	}
	forms, err := v.formsOf(s)
	if err != nil {
		return err
	}
	for _, form := range forms {
		if err := v.lookAt(s, form); err != nil {
			return err
		}
	}
	for i, p := range s.inside {
		if p == nil {
			continue
		}
		typ, ok := p.typeText()
		if !ok {
			return fileSchemaError("members of column " + s.inFile[i].Name + " that have one name and several types")
		}
		s.stored[i].Type = typ
	}
	return nil
}

// partOf is what is known of the inside of a column, nil without.
func (s *fileScan) partOf(i int) *part {
	if s.inside == nil {
		return nil
	}
	return s.inside[i]
}

// lookAt takes in what files of one form have.
func (v *Views) lookAt(s *fileScan, form fileForm) error {
	d, err := v.inst.Describe("SELECT * FROM " + ReadParquet(s.paths[form.files[0]:form.files[0]+1], s.options))
	if err != nil {
		return err
	}
	defer d.Destroy()
	if len(d.Types) != len(form.root.children) {
		return fileSchemaError("a file with other columns than its schema")
	}
	for i, p := range s.inside {
		if p == nil {
			continue
		}
		at := slices.IndexFunc(form.root.children, func(n *fileNode) bool {
			return s.ids != nil && n.hasID && n.id == s.ids[i] || s.ids == nil && strings.EqualFold(n.name, s.stored[i].Name)
		})
		if at >= 0 && !p.meet(form.root.children[at], d.Types[at], form.files, s.ids != nil) {
			return fileSchemaError("column " + s.inFile[i].Name + " is " + native.TypeName(d.Types[at]) + " in a file, and " +
				s.inFile[i].Type + " in the table")
		}
	}
	return nil
}

// newPart has the shape of a column's type in the log and in the table, which differ
// in the names of members.
func newPart(stored, table duck.LogicalType, ids []engine.FieldID) (*part, bool) {
	p := &part{kind: duck.GetTypeId(stored), taken: map[string]int{}, ambiguous: map[string]bool{}, foreign: map[string][]string{}}
	switch p.kind {
	case duck.GetTypeId(table):
	case duck.TypeVariant:
		p.scalar = native.TypeName(stored)
		return p, native.TypeName(table) == "VARCHAR"
	default:
		return nil, false
	}
	child := func(stored, table duck.LogicalType) bool {
		defer duck.DestroyLogicalType(&stored)
		defer duck.DestroyLogicalType(&table)
		at := len(p.children)
		if at >= len(ids) {
			return false
		}
		c, ok := newPart(stored, table, ids[at].Children)
		if ok {
			c.id, c.void = ids[at].ID, ids[at].Void
			p.children = append(p.children, c)
		}
		return ok
	}
	switch p.kind {
	case duck.TypeStruct:
		n := duck.StructTypeChildCount(stored)
		if n != duck.StructTypeChildCount(table) {
			return nil, false
		}
		for i := range n {
			if !child(duck.StructTypeChildType(stored, i), duck.StructTypeChildType(table, i)) {
				return nil, false
			}
			c := p.children[i]
			c.stored, c.name = duck.StructTypeChildName(stored, i), duck.StructTypeChildName(table, i)
		}
		return p, true
	case duck.TypeList:
		return p, child(duck.ListTypeChildType(stored), duck.ListTypeChildType(table))
	case duck.TypeMap:
		return p, child(duck.MapTypeKeyType(stored), duck.MapTypeKeyType(table)) &&
			child(duck.MapTypeValueType(stored), duck.MapTypeValueType(table))
	}
	p.scalar = native.TypeName(stored)
	if p.kind == duck.TypeDecimal {
		p.scale = duck.DecimalScale(stored)
	}
	return p, p.scalar == native.TypeName(table)
}

// isPlain reports whether the values that the engine reads need no conversion.
func (p *part) isPlain() bool {
	return p.kind != duck.TypeStruct && p.kind != duck.TypeVariant &&
		!slices.ContainsFunc(p.children, func(c *part) bool { return !c.isPlain() })
}

// hasVariants reports whether the part is a variant or contains one.
func (p *part) hasVariants() bool {
	return p.kind == duck.TypeVariant || slices.ContainsFunc(p.children, (*part).hasVariants)
}

// meet takes in what some files have for the part: a node of their schema, which the
// engine reads as a type. It is false where that cannot be read as the table's.
func (p *part) meet(node *fileNode, have duck.LogicalType, files []int, byID bool) bool {
	if p.kind == duck.TypeVariant && slices.Contains(wrappedVariants, native.TypeName(have)) {
		p.wrapped = append(p.wrapped, files...)
		return true
	}
	if p.scalar != "" {
		return p.takes(have)
	}
	if p.kind != duck.GetTypeId(have) {
		return false
	}
	switch p.kind {
	case duck.TypeList:
		return p.children[0].meetChild(node.element(), duck.ListTypeChildType(have), files, byID)
	case duck.TypeMap:
		key, value := node.entry()
		return p.children[0].meetChild(key, duck.MapTypeKeyType(have), files, byID) &&
			p.children[1].meetChild(value, duck.MapTypeValueType(have), files, byID)
	}
	return p.meetMembers(node, have, files, byID)
}

// wrappedVariants are the types that the engine reads for a variant from a file that
// does not mark it as one.
var wrappedVariants = []string{`STRUCT(metadata BLOB, "value" BLOB)`, `STRUCT("value" BLOB, metadata BLOB)`}

// takes is [castable] for a scalar.
func (p *part) takes(have duck.LogicalType) bool {
	from := duck.GetTypeId(have)
	if from == duck.TypeDecimal {
		return p.kind == from && p.scale >= duck.DecimalScale(have)
	}
	return p.kind == from || castableScalar(from, p.kind)
}

// meetChild is [part.meet] for types that it destroys.
func (p *part) meetChild(node *fileNode, have duck.LogicalType, files []int, byID bool) bool {
	defer duck.DestroyLogicalType(&have)
	return node != nil && p.meet(node, have, files, byID)
}

func (p *part) meetMembers(node *fileNode, have duck.LogicalType, files []int, byID bool) bool {
	if int(duck.StructTypeChildCount(have)) != len(node.children) || len(node.children) == 0 {
		return false
	}
	found := false
	for i, n := range node.children {
		name := duck.StructTypeChildName(have, duck.IdxT(i))
		at := slices.IndexFunc(p.children, func(c *part) bool {
			return !c.void && (byID && n.hasID && n.id == c.id || !byID && strings.EqualFold(name, c.stored))
		})
		lower := strings.ToLower(name)
		if was, known := p.taken[lower]; known && was != at {
			p.ambiguous[lower] = true
		}
		if was, known := p.taken[lower]; !known || was < 0 {
			p.taken[lower] = at
		}
		if at < 0 {
			p.foreign[lower] = append(p.foreign[lower], native.ChildTypeName(duck.StructTypeChildType(have, duck.IdxT(i))))
			continue
		}
		found = true
		if !p.children[at].meetChild(n, duck.StructTypeChildType(have, duck.IdxT(i)), files, byID) {
			return false
		}
		p.children[at].isCalled(name, files)
	}
	if !found {
		p.others = append(p.others, duck.StructTypeChildName(have, 0))
	}
	return true
}

// isCalled notes the name of a member in some files.
func (p *part) isCalled(name string, files []int) {
	at := slices.IndexFunc(p.called, func(f fileName) bool { return strings.EqualFold(f.name, name) })
	if at < 0 {
		p.called = append(p.called, fileName{name, slices.Clone(files)})
		return
	}
	p.called[at].files = append(p.called[at].files, files...)
}

// typeText is the type that the engine is told: that of every name which stands for a
// member in some file. It is false where one name would need two types.
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
	// One member is enough for the engine to read a file, and every value has a text.
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

// value is SQL for the table's value, given what the engine reads. depth is that of
// the lambda around it.
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

// member is the value of a member of a struct. Where its name alone does not say which
// one it is, the file does.
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

// tableType is the type of the part in the table.
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
