package scan

import (
	"slices"
	"strings"

	duck "github.com/duckdb/duckdb-go-bindings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/duckdb/native"
)

// DuckDB finds columns by field id but members of structs only by name, and it cannot read a
// file that has none of a struct's members. So if files may have members under other names, or
// different members, the schema of every file is inspected, and DuckDB is given a column type
// with every name that a member has in some file. The values of the table's members are
// extracted from that.
//
// A variant is a group in a file, which may be marked as a variant or not. DuckDB reads an
// unmarked group as a struct, and as a variant of that struct if the column's type is VARIANT.
// So files are inspected for variants too.

// part is a nested column, or a part of one, with the forms it has in files.
type part struct {
	kind duck.Type
	// scalar is the SQL type of a part without children; scale is that of a decimal.
	scalar string
	scale  uint8
	// stored and name are the names of a member in the log and in the table.
	stored, name string
	id           int
	// children are members, the element, or key and value.
	children []*part
	// called holds the names that a member has in files, with the files.
	called []fileName
	// others holds, for each file without any of the table's members, one of its members.
	others []string
	// taken maps the name of a file's member, in lower case, to the member of the table that
	// it is, -1 for none. ambiguous holds the names of several members.
	taken     map[string]int
	ambiguous map[string]bool
	// foreign holds the types of members that the table does not have, by name.
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

// inspect prepares the scan of nested columns whose members may have several names, by the
// schemas of all files, if the list asks for it.
func (v *Views) inspect(s *fileScan) error {
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
		if err := v.inspectForm(s, form); err != nil {
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

// partOf returns the nested column with the given number, nil if it was not inspected.
func (s *fileScan) partOf(i int) *part {
	if s.inside == nil {
		return nil
	}
	return s.inside[i]
}

// inspectForm records the members in files of one form.
func (v *Views) inspectForm(s *fileScan, form fileForm) error {
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
		if at >= 0 && !p.accept(form.root.children[at], d.Types[at], form.files, s.ids != nil) {
			return fileSchemaError("column " + s.inFile[i].Name + " is " + native.TypeName(d.Types[at]) + " in a file, and " +
				s.inFile[i].Type + " in the table")
		}
	}
	return nil
}

// newPart returns the shape of a column from its types in the log and in the table, which
// differ only in the names of members; false if they differ in more.
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

// isPlain reports whether the values that DuckDB reads need no conversion.
func (p *part) isPlain() bool {
	return p.kind != duck.TypeStruct && p.kind != duck.TypeVariant &&
		!slices.ContainsFunc(p.children, func(c *part) bool { return !c.isPlain() })
}

// hasVariants reports whether the part is a variant or contains one.
func (p *part) hasVariants() bool {
	return p.kind == duck.TypeVariant || slices.ContainsFunc(p.children, (*part).hasVariants)
}

// accept records the form of the part in some files: a node of their schema, which DuckDB
// reads with type have. It returns false if that cannot be read as the table's type.
func (p *part) accept(node *fileNode, have duck.LogicalType, files []int, byID bool) bool {
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
		return p.children[0].acceptChild(node.element(), duck.ListTypeChildType(have), files, byID)
	case duck.TypeMap:
		key, value := node.entry()
		return p.children[0].acceptChild(key, duck.MapTypeKeyType(have), files, byID) &&
			p.children[1].acceptChild(value, duck.MapTypeValueType(have), files, byID)
	}
	return p.acceptMembers(node, have, files, byID)
}

// wrappedVariants are the types with which DuckDB reads a variant from a file that does not
// mark it.
var wrappedVariants = []string{`STRUCT(metadata BLOB, "value" BLOB)`, `STRUCT("value" BLOB, metadata BLOB)`}

// takes is [castable] for a scalar.
func (p *part) takes(have duck.LogicalType) bool {
	from := duck.GetTypeId(have)
	if from == duck.TypeDecimal {
		return p.kind == from && p.scale >= duck.DecimalScale(have)
	}
	return p.kind == from || castableScalar(from, p.kind)
}

// acceptChild is [part.accept] for a type that it destroys.
func (p *part) acceptChild(node *fileNode, have duck.LogicalType, files []int, byID bool) bool {
	defer duck.DestroyLogicalType(&have)
	return node != nil && p.accept(node, have, files, byID)
}

func (p *part) acceptMembers(node *fileNode, have duck.LogicalType, files []int, byID bool) bool {
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
		if !p.children[at].acceptChild(n, duck.StructTypeChildType(have, duck.IdxT(i)), files, byID) {
			return false
		}
		p.children[at].addName(name, files)
	}
	if !found {
		p.others = append(p.others, duck.StructTypeChildName(have, 0))
	}
	return true
}

// addName records the name of a member in some files.
func (p *part) addName(name string, files []int) {
	at := slices.IndexFunc(p.called, func(f fileName) bool { return strings.EqualFold(f.name, name) })
	if at < 0 {
		p.called = append(p.called, fileName{name, slices.Clone(files)})
		return
	}
	p.called[at].files = append(p.called[at].files, files...)
}
