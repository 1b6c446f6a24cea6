package limits

import (
	"maps"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqlguard/sqltext"
	"github.com/lakewarden/lakewarden/engine/sqltree"
)

// dataType holds the number of members of a type and those that have names. It is
// immutable.
type dataType struct {
	// members counts the type itself and everything nested in it.
	members int64
	fields  map[string]*dataType // of a STRUCT, in lower case
	element *dataType            // of a list
}

var scalarType = &dataType{members: 1}

func (t *dataType) size() int64 { return t.members }

func (t *dataType) scalar() bool { return t.members == 1 }

// nested reports whether some member of the type has members.
func (t *dataType) nested() bool {
	if t.fields == nil {
		return !t.scalar()
	}
	for _, f := range t.fields {
		if !f.scalar() {
			return true
		}
	}
	return false
}

func listType(element *dataType) *dataType {
	return &dataType{members: sum(1, element.members), element: element}
}

// opaqueType returns a type with members of unknown names.
func opaqueType(members int64) *dataType {
	if members <= 1 {
		return scalarType
	}
	return &dataType{members: members}
}

// field returns the type of a member, or the whole type if the member is unknown.
func (t *dataType) field(name string) *dataType {
	if f := t.fields[strings.ToLower(name)]; f != nil {
		return f
	}
	return t
}

// common returns the type to which values of both types are cast.
func (p *plan) common(t, other *dataType) *dataType {
	switch {
	case t == other || other.scalar():
		return t
	case t.scalar():
		return other
	case t.element != nil && other.element != nil:
		element := p.common(t.element, other.element)
		if element == t.element || !p.countVisited(1) {
			return t
		}
		return listType(element)
	case t.fields != nil && other.fields != nil:
		return p.commonFields(t, other)
	}
	return opaqueType(sum(t.members, other.members))
}

// commonFields returns the STRUCT with the members of both. If t has them all, it
// returns t itself and copies nothing.
func (p *plan) commonFields(t, other *dataType) *dataType {
	if !p.countVisited(int64(len(other.fields))) {
		return t
	}
	var fields map[string]*dataType
	for name, f := range other.fields {
		mine := t.fields[name]
		if mine != nil {
			f = p.common(mine, f)
		}
		if f == mine {
			continue
		}
		if fields == nil {
			if !p.countVisited(int64(len(t.fields))) {
				return t
			}
			fields = make(map[string]*dataType, len(t.fields)+len(other.fields))
			maps.Copy(fields, t.fields)
		}
		fields[name] = f
	}
	if fields == nil {
		return t
	}
	return structType(fields)
}

func structType(fields map[string]*dataType) *dataType {
	t := &dataType{members: 1, fields: fields}
	for _, f := range fields {
		t.members = sum(t.members, f.members)
	}
	return t
}

// joined returns a type that holds all given types.
func joined(types []*dataType) *dataType {
	out, nested := int64(1), false
	for _, t := range types {
		out = sum(out, t.members)
		nested = nested || !t.scalar()
	}
	if !nested {
		return scalarType
	}
	return opaqueType(out)
}

// typeOfCast returns the type of a cast.
func (p *plan) typeOfCast(n *sqltree.Node) *dataType {
	t := p.casts[n]
	if t == nil {
		t = typeOfCast(n.Child("cast_type"))
		p.casts[n] = t
	}
	return t
}

// typeOfCast returns the type that a node of the tree names.
func typeOfCast(n *sqltree.Node) *dataType {
	info := n.Child("type_info")
	if child := info.Child("child_type"); child != nil {
		return listType(typeOfCast(child))
	}
	list := info.List("child_types")
	if len(list) == 0 {
		return scalarType
	}
	fields := map[string]*dataType{}
	for _, f := range list {
		fields[strings.ToLower(f.(*sqltree.Node).Str("first"))] = typeOfCast(f.(*sqltree.Node).Child("second"))
	}
	return structType(fields)
}

// typeOfColumn parses a type as the engine prints it. In a type of another form, the
// commas count the members.
func typeOfColumn(c engine.Column) *dataType {
	if !strings.ContainsAny(c.Type, "([") {
		return scalarType
	}
	r := &typeReader{text: c.Type}
	t := r.read()
	if r.failed || r.at != len(r.text) {
		return opaqueType(2 + int64(strings.Count(c.Type, ",")+strings.Count(c.Type, "[")))
	}
	return t
}

type typeReader struct {
	text   string
	at     int
	failed bool
}

// read parses one type and the brackets after it.
func (r *typeReader) read() *dataType {
	t := r.plain()
	for !r.failed && r.at < len(r.text) && r.text[r.at] == '[' {
		end := strings.IndexByte(r.text[r.at:], ']')
		if end < 0 {
			r.failed = true
			break
		}
		r.at += end + 1
		t = listType(t)
	}
	return t
}

func (r *typeReader) plain() *dataType {
	rest := r.text[r.at:]
	switch {
	case strings.HasPrefix(rest, "STRUCT("):
		r.at += len("STRUCT(")
		return r.fields()
	case strings.HasPrefix(rest, "MAP("):
		r.at += len("MAP(")
		key := r.read()
		if !strings.HasPrefix(r.text[r.at:], ", ") {
			r.failed = true
			return scalarType
		}
		r.at += 2
		value := r.read()
		r.close()
		return opaqueType(sum(sum(2, key.members), value.members))
	}
	for depth := 0; r.at < len(r.text); r.at++ {
		switch r.text[r.at] {
		case '(':
			depth++
		case ')':
			if depth == 0 {
				return scalarType
			}
			depth--
		case ',', '[':
			if depth == 0 {
				return scalarType
			}
		}
	}
	return scalarType
}

func (r *typeReader) fields() *dataType {
	fields := map[string]*dataType{}
	for !r.failed {
		name := r.name()
		fields[strings.ToLower(name)] = r.read()
		if !strings.HasPrefix(r.text[r.at:], ", ") {
			break
		}
		r.at += 2
	}
	r.close()
	return structType(fields)
}

// name parses the name of a field and the blank after it.
func (r *typeReader) name() string {
	start := r.at
	if r.at < len(r.text) && r.text[r.at] == '"' {
		r.at = sqltext.SkipQuoted(r.text, r.at, '"', false)
		name := strings.ReplaceAll(strings.Trim(r.text[start:r.at], `"`), `""`, `"`)
		r.skip(' ')
		return name
	}
	end := strings.IndexByte(r.text[r.at:], ' ')
	if end < 0 {
		r.failed = true
		return ""
	}
	r.at += end + 1
	return r.text[start : r.at-1]
}

func (r *typeReader) close() { r.skip(')') }

func (r *typeReader) skip(c byte) {
	if r.at >= len(r.text) || r.text[r.at] != c {
		r.failed = true
		return
	}
	r.at++
}
