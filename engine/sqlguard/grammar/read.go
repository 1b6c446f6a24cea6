package grammar

import (
	"errors"

	"github.com/lakewarden/lakewarden/engine/sqlguard/refusal"
	"github.com/lakewarden/lakewarden/engine/sqltree"
)

// Read decodes the parser's answer, which must be one statement, and checks it against the
// grammar.
func Read(raw []byte, limits Limits) (*sqltree.Node, *refusal.Error) {
	root, err := sqltree.Decode(raw, limits.Depth, false)
	switch {
	case errors.Is(err, sqltree.ErrDepth):
		return nil, refusal.New(refusal.CodeTooComplex, "", "the statement is nested too deeply")
	case err != nil:
		return nil, refusal.New(refusal.CodeSyntaxNode, "", "the statement holds text or numbers that cannot be passed on")
	}
	for key := range root.Fields() {
		if key != "error" && key != "statements" {
			return nil, refusal.Malformed("unknown field " + key)
		}
	}
	list := root.List("statements")
	if root.Flag("error") || len(list) != 1 {
		return nil, refusal.New(refusal.CodeStatement, "", "send exactly one statement")
	}
	c := &shapeCheck{limits: limits}
	return root, c.check(list[0], Statement)
}

// Each calls visit with every object in v, a value of kind k: the object itself or the
// items of a list.
func Each(v any, k Kind, visit func(n *sqltree.Node, k Kind) *refusal.Error) *refusal.Error {
	switch {
	case v == nil || isNilNode(v) || k >= kExprType:
		return nil
	case k == kExprRows || k&kListOf != 0:
		inner := k &^ kListOf
		if k == kExprRows {
			inner = Exprs
		}
		for _, e := range v.([]any) {
			if err := Each(e, inner, visit); err != nil {
				return err
			}
		}
	case k >= Statement:
		return visit(v.(*sqltree.Node), k)
	}
	return nil
}

// EachField calls visit with every object in the fields of n, in the order of the tree.
func EachField(n *sqltree.Node, k Kind, visit func(n *sqltree.Node, k Kind) *refusal.Error) *refusal.Error {
	f := families[k]
	tag := ""
	if f.tag != "" {
		tag = n.Str(f.tag)
	}
	shape := f.shapes[tag]
	for key, v := range n.Fields() {
		if err := Each(v, shape[key], visit); err != nil {
			return err.Within(n)
		}
	}
	return nil
}
