package sqlguard

import "strings"

// Limits cap what one statement may be. The zero value means the defaults.
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

func (l Limits) withDefaults() Limits {
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

// shapeCheck holds a tree against the grammar: afterwards every node is of a
// listed type and every field of the type the grammar says. It knows nothing
// of names and functions.
type shapeCheck struct {
	limits Limits
	nodes  int
}

func (c *shapeCheck) check(v any, k kind) *Error {
	if v == nil || isNilNode(v) {
		return nil
	}
	switch {
	case k == kExprRows:
		return c.each(v, kExprs)
	case k&kListOf != 0:
		return c.each(v, k&^kListOf)
	case k >= kExprType:
		if s, ok := v.(string); !ok || !enums[k][s] {
			return refuse(CodeSyntaxNode, s, "this form of the statement is not allowed")
		}
		return nil
	case k >= kStatement:
		return c.object(v, k)
	}
	return c.plain(v, k)
}

func isNilNode(v any) bool {
	n, ok := v.(*node)
	return ok && n == nil
}

func (c *shapeCheck) each(v any, k kind) *Error {
	list, ok := v.([]any)
	if !ok {
		return malformed("list expected")
	}
	if len(list) > c.limits.ListItems {
		return refuse(CodeTooComplex, "", "a list has more than %d items", c.limits.ListItems)
	}
	for _, e := range list {
		if e == nil || isNilNode(e) {
			return malformed("empty item")
		}
		if err := c.check(e, k); err != nil {
			return err
		}
	}
	return nil
}

func (c *shapeCheck) object(v any, k kind) *Error {
	n, ok := v.(*node)
	if !ok {
		return malformed("object expected")
	}
	if c.nodes++; c.nodes > c.limits.Nodes {
		return refuse(CodeTooComplex, "", "the statement has more than %d parts", c.limits.Nodes)
	}
	f := families[k]
	tag := ""
	if f.tag != "" {
		tag = n.str(f.tag)
	}
	fields, ok := f.shapes[tag]
	if !ok && k == kTypeInfo {
		return unservedType(n)
	}
	if !ok {
		return refuse(CodeSyntaxNode, tag, "%s is not allowed", inWords(tag)).at(n)
	}
	for i, key := range n.keys {
		fk, ok := fields[key]
		if !ok {
			return malformed("unknown field " + key)
		}
		if err := c.check(n.vals[i], fk); err != nil {
			if k == kTypeInfo && err.Code == CodeSyntaxNode {
				err = unservedType(n)
			}
			if err.pos == 0 {
				err = err.at(n)
			}
			return err
		}
	}
	return nil
}

func (c *shapeCheck) plain(v any, k kind) *Error {
	switch k {
	case kString:
		s, ok := v.(string)
		if !ok {
			return malformed("text expected")
		}
		if strings.IndexByte(s, 0) >= 0 {
			return refuse(CodeSyntaxNode, "", "a name holds a zero byte")
		}
		if len(s) > c.limits.Identifier {
			return refuse(CodeTooComplex, s[:min(len(s), 32)], "a name is longer than %d bytes", c.limits.Identifier)
		}
	case kBool:
		if _, ok := v.(bool); !ok {
			return malformed("flag expected")
		}
	case kNumber:
		if _, ok := v.(number); !ok {
			return malformed("number expected")
		}
	case kNothing:
		switch v := v.(type) {
		case string:
			if v == "" {
				return nil
			}
			return refuse(CodeSyntaxNode, v, "this form of the statement is not allowed")
		case bool:
			if !v {
				return nil
			}
		case []any:
			if len(v) == 0 {
				return nil
			}
		}
		return refuse(CodeSyntaxNode, "", "this form of the statement is not allowed")
	case kIdents:
		list, ok := v.([]any)
		if !ok {
			return malformed("list of names expected")
		}
		if len(list) > c.limits.ListItems {
			return refuse(CodeTooComplex, "", "a list has more than %d items", c.limits.ListItems)
		}
		for _, e := range list {
			if _, ok := e.(string); !ok {
				return malformed("name expected")
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

func (c *shapeCheck) sets(v any) *Error {
	list, ok := v.([]any)
	if !ok || len(list) > 4096 {
		return refuse(CodeTooComplex, "GROUPING SETS", "more than 4096 grouping sets")
	}
	for _, e := range list {
		inner, ok := e.([]any)
		if !ok {
			return malformed("grouping set expected")
		}
		for _, i := range inner {
			if _, ok := i.(number); !ok {
				return malformed("number expected")
			}
		}
	}
	return nil
}

// scalar takes the payloads that literals of the parser have: text, numbers, the two
// halves of a HUGEINT, and the empty list for the missing bound of a slice.
func (c *shapeCheck) scalar(v any) *Error {
	n, ok := v.(*node)
	if !ok {
		if s, isText := v.(string); isText && strings.IndexByte(s, 0) >= 0 {
			return refuse(CodeSyntaxNode, "", "a text constant holds a zero byte")
		}
		if _, isList := v.([]any); isList {
			return malformed("constant expected")
		}
		return nil
	}
	for i, key := range n.keys {
		if list, isList := n.vals[i].([]any); isList && len(list) == 0 && key == "children" {
			continue
		}
		if _, isNumber := n.vals[i].(number); !isNumber || key != "upper" && key != "lower" {
			return malformed("constant expected")
		}
	}
	return nil
}

func malformed(what string) *Error {
	return refuse(CodeSyntaxNode, "", "this form of the statement is not allowed (%s)", what)
}

// inWords names a node type for people.
func inWords(tag string) string {
	switch tag {
	case "":
		return "this form of the statement"
	case "DEFAULT":
		return "DEFAULT"
	}
	return "the syntax " + strings.ToLower(strings.ReplaceAll(tag, "_", " "))
}
