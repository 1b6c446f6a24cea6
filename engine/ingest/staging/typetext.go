package staging

import (
	"errors"
	"strconv"
	"strings"
)

// maxTypeDepth bounds how deep types are nested.
const maxTypeDepth = 64

var errTypeText = errors.New("not the name of a type")

// ParseType reads a type as DuckDB prints it. A name that is not known gives
// [kindOther].
func ParseType(text string) (*DataType, error) {
	p := &typeText{rest: text}
	t, err := p.parse(0)
	if err == nil && p.rest != "" {
		err = errTypeText
	}
	return t, err
}

type typeText struct{ rest string }

func (p *typeText) eat(prefix string) bool {
	rest, ok := strings.CutPrefix(p.rest, prefix)
	if ok {
		p.rest = rest
	}
	return ok
}

func (p *typeText) parse(depth int) (*DataType, error) {
	if depth > maxTypeDepth {
		return nil, errTypeText
	}
	t, err := p.base(depth)
	for err == nil && p.eat("[") {
		size, rest, ok := strings.Cut(p.rest, "]")
		if _, bad := strconv.ParseUint(size, 10, 32); !ok || size != "" && bad != nil {
			return nil, errTypeText
		}
		p.rest = rest
		element := []member{{name: "element", typ: t}}
		if size == "" {
			t = &DataType{Kind: KindArray, fields: element}
		} else {
			t = &DataType{Kind: kindFixedArray, size: size, fields: element}
		}
		if depth++; depth > maxTypeDepth {
			return nil, errTypeText
		}
	}
	return t, err
}

func (p *typeText) base(depth int) (*DataType, error) {
	switch {
	case p.eat("STRUCT("):
		return p.structure(depth)
	case p.eat("MAP("):
		return p.mapping(depth)
	case p.eat("DECIMAL("):
		return p.decimal()
	case p.eat("ENUM("):
		return p.enum()
	}
	name := p.name()
	if k, ok := kindsByName[name]; ok {
		return &DataType{Kind: k}, nil
	}
	if name == "" {
		return nil, errTypeText
	}
	return &DataType{Kind: kindOther}, nil
}

// name takes the words of a type: everything up to what ends it.
func (p *typeText) name() string {
	if p.eat(`"NULL"`) {
		return `"NULL"`
	}
	n := strings.IndexAny(p.rest, "[](),\"'")
	if n < 0 {
		n = len(p.rest)
	}
	name := p.rest[:n]
	p.rest = p.rest[n:]
	return name
}

func (p *typeText) decimal() (*DataType, error) {
	text, rest, ok := strings.Cut(p.rest, ")")
	left, right, two := strings.Cut(text, ",")
	precision, err := strconv.ParseUint(left, 10, 8)
	scale, err2 := strconv.ParseUint(strings.TrimPrefix(right, " "), 10, 8)
	if !ok || !two || err != nil || err2 != nil || precision < 1 || precision > 38 || scale > precision {
		return nil, errTypeText
	}
	p.rest = rest
	return &DataType{Kind: kindDecimal, precision: int32(precision), scale: int32(scale)}, nil
}

func (p *typeText) mapping(depth int) (*DataType, error) {
	key, err := p.parse(depth + 1)
	if err != nil {
		return nil, err
	}
	if !p.eat(", ") {
		return nil, errTypeText
	}
	value, err := p.parse(depth + 1)
	if err != nil {
		return nil, err
	}
	if !p.eat(")") {
		return nil, errTypeText
	}
	return &DataType{Kind: KindMap, fields: []member{{name: "key", typ: key}, {name: "value", typ: value}}}, nil
}

func (p *typeText) structure(depth int) (*DataType, error) {
	t := &DataType{Kind: KindStruct}
	if p.eat(")") {
		return t, nil
	}
	for {
		name, err := p.ident()
		if err != nil {
			return nil, err
		}
		if !p.eat(" ") {
			return nil, errTypeText
		}
		typ, err := p.parse(depth + 1)
		if err != nil {
			return nil, err
		}
		t.fields = append(t.fields, member{name: name, typ: typ})
		if p.eat(")") {
			return t, nil
		}
		if !p.eat(", ") {
			return nil, errTypeText
		}
	}
}

// ident takes the name of a member, quoted or not.
func (p *typeText) ident() (string, error) {
	if strings.HasPrefix(p.rest, `"`) {
		return p.quoted('"')
	}
	n := strings.IndexAny(p.rest, " ,()[]\"")
	if n <= 0 {
		return "", errTypeText
	}
	name := p.rest[:n]
	p.rest = p.rest[n:]
	return name, nil
}

// quoted takes a text between quotes, in which quotes are doubled.
func (p *typeText) quoted(quote byte) (string, error) {
	var b strings.Builder
	for i := 1; i < len(p.rest); i++ {
		if p.rest[i] == quote {
			if i+1 == len(p.rest) || p.rest[i+1] != quote {
				p.rest = p.rest[i+1:]
				return b.String(), nil
			}
			i++
		}
		b.WriteByte(p.rest[i])
	}
	return "", errTypeText
}

func (p *typeText) enum() (*DataType, error) {
	before := p.rest
	for strings.HasPrefix(p.rest, "'") {
		if _, err := p.quoted('\''); err != nil {
			return nil, err
		}
		values := before[:len(before)-len(p.rest)]
		if p.eat(")") {
			return &DataType{Kind: kindEnum, values: values}, nil
		}
		if !p.eat(", ") {
			break
		}
	}
	return nil, errTypeText
}
