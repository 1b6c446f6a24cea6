package constraint

import (
	"slices"
	"strings"

	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/deltasql"
)

// builder makes typed nodes. It checks types, for both languages.
type builder struct {
	schema delta.Struct
	// spark reports that the expression is read from Spark's SQL. An expression that Spark would
	// evaluate differently is then an error.
	spark bool
}

// note records why a node has no counterpart in Spark's SQL. Expressions that came from Spark's SQL
// need no such reason.
func (b builder) note(e *expr, reason string) *expr {
	if !b.spark {
		e.local = reason
	}
	return e
}

// column resolves a path: a column and members of structs. As in both languages, names are matched
// exactly, or else in any case.
func (b builder) column(names []string) (*expr, error) {
	e := &expr{op: opColumn, typ: b.schema}
	for i, name := range names {
		s, ok := e.typ.(delta.Struct)
		if !ok {
			return nil, invalid("%q has no member %q", strings.Join(names[:i], "."), name)
		}
		f, ok := fieldOf(s, name)
		if !ok {
			return nil, invalid("there is no column %q", strings.Join(names[:i+1], "."))
		}
		e.path, e.typ = append(e.path, f.Name), f.Type
		if strings.ContainsAny(f.Name, "`\\") || !plainText(f.Name) {
			e = b.note(e, "a column's name has characters that other writers read differently")
		}
	}
	return e, nil
}

func fieldOf(s delta.Struct, name string) (delta.Field, bool) {
	if f, ok := s.Field(name); ok {
		return f, true
	}
	i := slices.IndexFunc(s.Fields, func(f delta.Field) bool { return strings.EqualFold(f.Name, name) })
	if i < 0 {
		return delta.Field{}, false
	}
	return s.Fields[i], true
}

func (b builder) null() *expr { return &expr{op: opNull, typ: delta.Void} }

func (b builder) boolean(v bool) *expr {
	if v {
		return &expr{op: opLiteral, typ: delta.Boolean, text: "true"}
	}
	return &expr{op: opLiteral, typ: delta.Boolean, text: "false"}
}

// condition checks that e is boolean.
func condition(e *expr) error {
	if f := familyOf(e.typ); f != famBool && f != famNull {
		return invalid("%s where a condition is needed", typeName(e.typ))
	}
	return nil
}

func (b builder) logic(o op, args ...*expr) (*expr, error) {
	for _, a := range args {
		if err := condition(a); err != nil {
			return nil, err
		}
	}
	return &expr{op: o, typ: delta.Boolean, args: args}, nil
}

func (b builder) isNull(arg *expr) *expr {
	return &expr{op: opIsNull, typ: delta.Boolean, args: []*expr{arg}}
}

func (b builder) not(arg *expr) (*expr, error) { return b.logic(opNot, arg) }

// compare compares two values of one family; text is the operator.
func (b builder) compare(text string, l, r *expr) (*expr, error) {
	l, r, reason, err := b.pair(l, r)
	if err != nil {
		return nil, err
	}
	return b.note(&expr{op: opCompare, typ: delta.Boolean, text: text, args: []*expr{l, r}}, reason), nil
}

func (b builder) between(value, low, high *expr) (*expr, error) {
	_, low, first, err := b.pair(value, low)
	if err != nil {
		return nil, err
	}
	value, high, second, err := b.pair(value, high)
	if err != nil {
		return nil, err
	}
	return b.note(&expr{op: opBetween, typ: delta.Boolean, args: []*expr{value, low, high}}, either(first, second)), nil
}

// in requires every item to be comparable with the value without conversion.
func (b builder) in(value *expr, items []*expr) (*expr, error) {
	e := &expr{op: opIn, typ: delta.Boolean, args: []*expr{value}}
	for _, item := range items {
		as, item, reason, err := b.pair(value, item)
		if err != nil {
			return nil, err
		}
		if as != value {
			return nil, invalid("IN compares values of different types")
		}
		if familyOf(item.typ) == famInt && familyOf(value.typ) == famDecimal || familyOf(item.typ) == famDecimal &&
			familyOf(value.typ) == famInt {
			reason = "IN mixes integers and decimals"
			if b.spark {
				return nil, invalid("%s", reason)
			}
		}
		if reason != "" {
			e = b.note(e, reason)
		}
		e.args = append(e.args, item)
	}
	if len(items) == 0 {
		return nil, invalid("IN without values")
	}
	return e, nil
}

// like matches a text; escape can be nil.
func (b builder) like(value, pattern, escape *expr) (*expr, error) {
	e := &expr{op: opLike, typ: delta.Boolean, args: []*expr{value, pattern}}
	if escape != nil {
		e.args = append(e.args, escape)
		e = b.note(e, "LIKE has an escape character")
	}
	for _, a := range e.args {
		if familyOf(a.typ) != famText {
			return nil, invalid("LIKE of %s", typeName(a.typ))
		}
	}
	if err := checkPattern(pattern, escape); err != nil {
		return nil, err
	}
	switch {
	case pattern.op != opLiteral && b.spark, escape != nil && b.spark:
		return nil, invalid("LIKE with a pattern that is not constant")
	case pattern.op != opLiteral:
		e = b.note(e, "the pattern of LIKE is not constant")
	}
	return e, nil
}

// choose returns CASE WHEN args[0] THEN args[1] … with the last argument as ELSE. If that is nil,
// it is NULL.
func (b builder) choose(args []*expr) (*expr, error) {
	if len(args)%2 == 0 {
		args = append(args, b.null())
	}
	var results []*expr
	for i, a := range args {
		if i%2 == 1 || i == len(args)-1 {
			results = append(results, a)
		} else if err := condition(a); err != nil {
			return nil, err
		}
	}
	t, err := b.unify("CASE", results)
	return &expr{op: opCase, typ: t, args: args}, err
}

// unify returns the common type of the results of a choice. All must have the same type.
func (b builder) unify(what string, args []*expr) (delta.DataType, error) {
	var t delta.DataType = delta.Void
	for _, a := range args {
		switch {
		case familyOf(a.typ) == famNull:
		case familyOf(t) == famNull:
			t = a.typ
		case familyOf(a.typ) == famInt && familyOf(t) == famInt:
			t = wider(a.typ, t)
		case !delta.EqualTypes(a.typ, t):
			return nil, invalid("%s of %s and %s", what, typeName(t), typeName(a.typ))
		}
	}
	return t, nil
}

var intOrder = []delta.DataType{delta.Byte, delta.Short, delta.Integer, delta.Long}

func wider(a, b delta.DataType) delta.DataType {
	return intOrder[max(slices.Index(intOrder, a), slices.Index(intOrder, b))]
}

func typeName(t delta.DataType) string {
	if t == delta.Void {
		return "NULL"
	}
	return deltasql.Type(t).String()
}
