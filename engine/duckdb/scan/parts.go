package scan

import (
	"slices"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqltype"
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
	// typ is the type in the table.
	typ sqltype.Type
	// variant reports that the part is a variant, which is text in the table.
	variant bool
	// stored and name are the names of a member by the log and in the table.
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
	// foreign are the types under names of members that are none of the table's.
	foreign map[string][]sqltype.Type
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
	s.inside = make([]*part, len(s.stored))
	for i := range s.stored {
		p, ok := newPart(s.stored[i].Type, s.inFile[i].Type, s.parts[i])
		if !ok {
			return columnTypeError(s.inFile[i].Name, s.stored[i].Type, "files", s.inFile[i].Type)
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
	all := make([]int, len(s.paths))
	for i := range all {
		all[i] = i
	}
	var err error
	if s.forms, err = v.formsOf(s, all); err != nil {
		return err
	}
	for _, form := range s.forms {
		if err := v.inspectForm(s, form); err != nil {
			return err
		}
	}
	return nil
}

// unite gives nested columns a type with every name that their members have in some file.
func (s *fileScan) unite() error {
	for i, p := range s.inside {
		if p == nil {
			continue
		}
		typ, ok := p.told()
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
	path := s.paths[form.files[0] : form.files[0]+1]
	d, err := v.inst.Describe("SELECT * FROM " + ReadParquet(path, s.options))
	if err != nil {
		return err
	}
	root, err := v.schemaOf(path[0], d)
	if err != nil {
		return err
	}
	for i, p := range s.inside {
		if p == nil {
			continue
		}
		at := slices.IndexFunc(root.children, func(n *fileNode) bool {
			return s.ids != nil && n.hasID && n.id == s.ids[i] || s.ids == nil && strings.EqualFold(n.name, s.stored[i].Name)
		})
		if at >= 0 && !p.accept(root.children[at], d.Types[at], form.files, s.ids != nil) {
			return columnTypeError(s.inFile[i].Name, d.Types[at], "a file", s.inFile[i].Type)
		}
	}
	return nil
}

// newPart has the shape of a column's type in the log and in the table, which differ
// in the names of members.
func newPart(stored, table sqltype.Type, ids []engine.FieldID) (*part, bool) {
	p := &part{typ: table, taken: map[string]int{}, ambiguous: map[string]bool{}, foreign: map[string][]sqltype.Type{}}
	if stored == sqltype.Variant {
		p.variant = true
		return p, table == sqltype.Varchar
	}
	inLog, inTable := members(stored), members(table)
	if inTable == nil {
		return p, sqltype.Equal(stored, table)
	}
	if !alike(stored, table) || len(inLog) != len(inTable) || len(inLog) > len(ids) {
		return nil, false
	}
	for i, f := range inLog {
		c, ok := newPart(f.Type, inTable[i].Type, ids[i].Children)
		if !ok {
			return nil, false
		}
		c.id, c.void, c.stored, c.name = ids[i].ID, ids[i].Void, f.Name, inTable[i].Name
		p.children = append(p.children, c)
	}
	return p, true
}

// members returns the parts of a type that files may hold under other names or ids:
// those of a struct, a list or a map.
func members(t sqltype.Type) []sqltype.Field {
	switch t.(type) {
	case *sqltype.Struct, sqltype.List, sqltype.Map:
		return sqltype.Parts(t)
	}
	return nil
}

// isPlain reports whether the values that DuckDB reads need no conversion.
func (p *part) isPlain() bool {
	_, isStruct := p.typ.(*sqltype.Struct)
	return !isStruct && !p.variant && !slices.ContainsFunc(p.children, func(c *part) bool { return !c.isPlain() })
}

// hasVariants reports whether the part is a variant or contains one.
func (p *part) hasVariants() bool {
	return p.variant || slices.ContainsFunc(p.children, (*part).hasVariants)
}

// accept records the form of the part in some files: a node of their schema, which DuckDB
// reads with type have. It returns false if that cannot be read as the table's type.
func (p *part) accept(node *fileNode, have sqltype.Type, files []int, byID bool) bool {
	if p.variant {
		if slices.Contains(wrappedVariants, have.String()) {
			p.wrapped = append(p.wrapped, files...)
			return true
		}
		return have == sqltype.Variant
	}
	if members(p.typ) == nil {
		return castable(have, p.typ) && !node.nanos
	}
	if !alike(have, p.typ) {
		return false
	}
	switch have := have.(type) {
	case sqltype.List:
		element := node.element()
		return element != nil && p.children[0].accept(element, have.Element, files, byID)
	case sqltype.Map:
		key, value := node.entry()
		return key != nil && p.children[0].accept(key, have.Key, files, byID) && value != nil &&
			p.children[1].accept(value, have.Value, files, byID)
	case *sqltype.Struct:
		return p.acceptMembers(node, have.Fields, files, byID)
	}
	return false
}

// wrappedVariants are the types with which DuckDB reads a variant from a file that does not
// mark it.
var wrappedVariants = []string{`STRUCT(metadata BLOB, "value" BLOB)`, `STRUCT("value" BLOB, metadata BLOB)`}

func (p *part) acceptMembers(node *fileNode, have []sqltype.Field, files []int, byID bool) bool {
	if len(have) != len(node.children) || len(node.children) == 0 {
		return false
	}
	found := false
	for i, n := range node.children {
		name := have[i].Name
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
			p.foreign[lower] = append(p.foreign[lower], have[i].Type)
			continue
		}
		found = true
		if !p.children[at].accept(n, have[i].Type, files, byID) {
			return false
		}
		p.children[at].addName(name, files)
	}
	if !found {
		p.others = append(p.others, have[0].Name)
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
