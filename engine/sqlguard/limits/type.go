package limits

import (
	"maps"
	"strings"

	"github.com/lakewarden/lakewarden/engine/sqltree"
	"github.com/lakewarden/lakewarden/engine/sqltype"
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

// typeOfColumn returns the type of a column.
func typeOfColumn(t sqltype.Type) *dataType {
	switch t := t.(type) {
	case sqltype.List:
		return listType(typeOfColumn(t.Element))
	case sqltype.Array:
		return listType(typeOfColumn(t.Element))
	case sqltype.Map:
		return opaqueType(sum(sum(2, typeOfColumn(t.Key).members), typeOfColumn(t.Value).members))
	case *sqltype.Struct:
		fields := make(map[string]*dataType, len(t.Fields))
		for _, f := range t.Fields {
			fields[strings.ToLower(f.Name)] = typeOfColumn(f.Type)
		}
		return structType(fields)
	}
	return scalarType
}
