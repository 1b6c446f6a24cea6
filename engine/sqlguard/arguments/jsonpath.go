package arguments

import (
	"strings"

	"github.com/lakewarden/lakewarden/engine/sqlguard/refusal"
	"github.com/lakewarden/lakewarden/engine/sqltree"
)

// A step ".." of a JSON path visits every value below; a second one does so for each value
// that the first one found. The engine does not check for an interrupt while it follows the
// path in one row, so a few kilobytes of nested JSON and three such steps take minutes. One
// step is linear.

const (
	// everyLevel is that step. A quoted key that contains it is counted too.
	everyLevel = ".."
	// pathStart begins a path; other texts are keys or have no such steps.
	pathStart = "$"
)

func errorPath() *refusal.Error {
	return refusal.New(refusal.CodeArgument, "", "a JSON path may search every level (..) once")
}

// pathsRule bounds every path of a call.
func pathsRule(b *Bounds, n *sqltree.Node, _ string) *refusal.Error {
	args := n.List("children")
	for i := 1; i < len(args); i++ {
		if err := b.path(args[i].(*sqltree.Node), func(guarded *sqltree.Node) { args[i] = guarded }); err != nil {
			return err
		}
	}
	return nil
}

// Arrow bounds the path of json -> path. In the tree it has the form of a lambda.
func (b *Bounds) Arrow(n *sqltree.Node) *refusal.Error {
	return b.path(n.Child("expr"), func(guarded *sqltree.Node) { n.Set("expr", guarded) })
}

// path checks a constant path. A computed path or a parameter may not contain everyLevel:
// the engine accepts it only where it can compute the path before the statement runs.
func (b *Bounds) path(arg *sqltree.Node, put func(guarded *sqltree.Node)) *refusal.Error {
	if paths, ok := constantPaths(arg); ok {
		for _, p := range paths {
			if strings.HasPrefix(p, pathStart) && strings.Count(p, everyLevel) > 1 {
				return errorPath()
			}
		}
		return nil
	}
	b.edits.Add(func() {
		alias := arg.Str("alias")
		check := func(use func() *sqltree.Node) *sqltree.Node {
			found := sqltree.Call("contains", false, sqltree.Cast(use(), "VARCHAR"), sqltree.Text(everyLevel))
			isPath := sqltree.Call("starts_with", false, sqltree.Cast(use(), "VARCHAR"), sqltree.Text(pathStart))
			return sqltree.Case(found, sqltree.Case(isPath, guardError(), use()), use())
		}
		var guarded *sqltree.Node
		if arg.Is("class", "PARAMETER") {
			guarded = check(arg.Clone) // it keeps the type of the value
		} else {
			guarded = guard([]operand{{"x", arg}}, func(use func(string) *sqltree.Node) *sqltree.Node {
				return check(func() *sqltree.Node { return use("x") })
			})
		}
		guarded.Set("alias", alias)
		put(guarded)
	})
	return nil
}

// constantPaths returns the texts of a constant or of a list of constants.
func constantPaths(arg *sqltree.Node) ([]string, bool) {
	if arg.Is("class", "CONSTANT") && arg.Child("value").Flag("is_null") {
		return nil, true
	}
	if lit, ok := sqltree.LiteralOf(arg); ok {
		return []string{lit.Text}, true
	}
	if !arg.Is("type", "ARRAY_CONSTRUCTOR") && !arg.Is("function_name", "list_value") {
		return nil, false
	}
	var out []string
	for item := range arg.Each("children") {
		lit, ok := sqltree.LiteralOf(item)
		if !ok {
			return nil, false
		}
		out = append(out, lit.Text)
	}
	return out, true
}
