package grammar

import (
	"strings"

	"github.com/lakewarden/lakewarden/engine/sqlguard/refusal"
	"github.com/lakewarden/lakewarden/engine/sqltree"
)

// Limits caps the size of a statement. The zero value means the defaults.
type Limits struct {
	// Bytes is the length of the text. Default 256 KiB.
	Bytes int
	// Depth is the nesting of the tree, several levels an expression. Default 1,200.
	Depth int
	// Nodes is the number of nodes of the tree. Default 250,000.
	Nodes int
	// ListItems is the length of an IN list, VALUES list or list of arguments.
	// Default 10,000.
	ListItems int
	// Identifier is the length of a name in bytes. Default 255.
	Identifier int
}

// WithDefaults returns l with defaults in place of zero and negative limits.
func (l Limits) WithDefaults() Limits {
	for _, f := range []struct {
		v *int
		d int
	}{{&l.Bytes, 256 << 10}, {&l.Depth, 1200}, {&l.Nodes, 250_000}, {&l.ListItems, 10_000}, {&l.Identifier, 255}} {
		if *f.v <= 0 {
			*f.v = f.d
		}
	}
	return l
}

// shapeCheck checks a tree against the grammar. Afterwards every node is of a listed type
// and every field of the type that the grammar names. It ignores names and functions.
type shapeCheck struct {
	limits Limits
	nodes  int
}

func (c *shapeCheck) check(v any, k Kind) *refusal.Error {
	if v == nil || isNilNode(v) {
		return nil
	}
	switch {
	case k == kExprRows:
		return c.each(v, Exprs)
	case k&kListOf != 0:
		return c.each(v, k&^kListOf)
	case k >= kExprType:
		if s, ok := v.(string); !ok || !enums[k][s] {
			return refusal.New(refusal.CodeSyntaxNode, s, "this form of the statement is not allowed")
		}
		return nil
	case k >= Statement:
		return c.object(v, k)
	}
	return c.plain(v, k)
}

func isNilNode(v any) bool {
	n, ok := v.(*sqltree.Node)
	return ok && n == nil
}

func (c *shapeCheck) each(v any, k Kind) *refusal.Error {
	list, ok := v.([]any)
	if !ok {
		return refusal.Malformed("list expected")
	}
	if len(list) > c.limits.ListItems {
		return refusal.New(refusal.CodeTooComplex, "", "a list has more than %d items", c.limits.ListItems)
	}
	for _, e := range list {
		if e == nil || isNilNode(e) {
			return refusal.Malformed("empty item")
		}
		if err := c.check(e, k); err != nil {
			return err
		}
	}
	return nil
}

func (c *shapeCheck) object(v any, k Kind) *refusal.Error {
	n, ok := v.(*sqltree.Node)
	if !ok {
		return refusal.Malformed("object expected")
	}
	if c.nodes++; c.nodes > c.limits.Nodes {
		return refusal.New(refusal.CodeTooComplex, "", "the statement has more than %d parts", c.limits.Nodes)
	}
	f := families[k]
	tag := ""
	if f.tag != "" {
		tag = n.Str(f.tag)
	}
	fields, ok := f.shapes[tag]
	if !ok && k == kTypeInfo {
		return unservedType(n)
	}
	if !ok {
		return refusal.New(refusal.CodeSyntaxNode, tag, "%s is not allowed", inWords(tag)).At(n)
	}
	for key, v := range n.Fields() {
		fk, ok := fields[key]
		if !ok {
			return refusal.Malformed("unknown field " + key)
		}
		if err := c.check(v, fk); err != nil {
			if k == kTypeInfo && err.Code == refusal.CodeSyntaxNode {
				err = unservedType(n)
			}
			return err.Within(n)
		}
	}
	return nil
}

func (c *shapeCheck) plain(v any, k Kind) *refusal.Error {
	switch k {
	case kString:
		s, ok := v.(string)
		if !ok {
			return refusal.Malformed("text expected")
		}
		if strings.IndexByte(s, 0) >= 0 {
			return refusal.New(refusal.CodeSyntaxNode, "", "a name holds a zero byte")
		}
		if len(s) > c.limits.Identifier {
			return refusal.New(refusal.CodeTooComplex, s[:min(len(s), 32)], "a name is longer than %d bytes", c.limits.Identifier)
		}
	case kBool:
		if _, ok := v.(bool); !ok {
			return refusal.Malformed("flag expected")
		}
	case kNumber:
		if _, ok := v.(sqltree.Number); !ok {
			return refusal.Malformed("number expected")
		}
	case kNothing:
		switch v := v.(type) {
		case string:
			if v == "" {
				return nil
			}
			return refusal.New(refusal.CodeSyntaxNode, v, "this form of the statement is not allowed")
		case bool:
			if !v {
				return nil
			}
		case []any:
			if len(v) == 0 {
				return nil
			}
		}
		return refusal.New(refusal.CodeSyntaxNode, "", "this form of the statement is not allowed")
	case kIdents:
		list, ok := v.([]any)
		if !ok {
			return refusal.Malformed("list of names expected")
		}
		if len(list) > c.limits.ListItems {
			return refusal.New(refusal.CodeTooComplex, "", "a list has more than %d items", c.limits.ListItems)
		}
		for _, e := range list {
			if _, ok := e.(string); !ok {
				return refusal.Malformed("name expected")
			}
			if err := c.plain(e, kString); err != nil {
				return err
			}
		}
	case kSets:
		return c.sets(v)
	case kScalar:
		return c.scalar(v)
	}
	return nil
}

func (c *shapeCheck) sets(v any) *refusal.Error {
	list, ok := v.([]any)
	if !ok || len(list) > 4096 {
		return refusal.New(refusal.CodeTooComplex, "GROUPING SETS", "more than 4096 grouping sets")
	}
	for _, e := range list {
		inner, ok := e.([]any)
		if !ok {
			return refusal.Malformed("grouping set expected")
		}
		for _, i := range inner {
			if _, ok := i.(sqltree.Number); !ok {
				return refusal.Malformed("number expected")
			}
		}
	}
	return nil
}

// scalar checks the payload of a constant: a text, a number, the two halves of a HUGEINT,
// or the empty list for the missing bound of a slice.
func (c *shapeCheck) scalar(v any) *refusal.Error {
	n, ok := v.(*sqltree.Node)
	if !ok {
		if s, isText := v.(string); isText && strings.IndexByte(s, 0) >= 0 {
			return refusal.New(refusal.CodeSyntaxNode, "", "a text constant holds a zero byte")
		}
		if _, isList := v.([]any); isList {
			return refusal.Malformed("constant expected")
		}
		return nil
	}
	for key, v := range n.Fields() {
		if list, isList := v.([]any); isList && len(list) == 0 && key == "children" {
			continue
		}
		if _, isNumber := v.(sqltree.Number); !isNumber || key != "upper" && key != "lower" {
			return refusal.Malformed("constant expected")
		}
	}
	return nil
}

// inWords returns a readable name of a node type.
func inWords(tag string) string {
	switch tag {
	case "":
		return "this form of the statement"
	case "DEFAULT":
		return "DEFAULT"
	}
	return "the syntax " + strings.ToLower(strings.ReplaceAll(tag, "_", " "))
}
