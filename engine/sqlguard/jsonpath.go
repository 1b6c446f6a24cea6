package sqlguard

import "strings"

// A step .. of a JSON path looks at every value below; a second one does so for
// each value that the first one found. The engine follows the path of one row
// without looking for an interrupt, so that a few kilobytes of nested JSON and
// three such steps hold it for minutes. One step is linear.

const (
	// everyLevel is what such a step looks like. A key that holds it in quotes
	// counts as well.
	everyLevel = ".."
	// pathStart begins a path; other texts are a key or have no such steps.
	pathStart = "$"
)

func errorPath() *Error {
	return refuse(CodeArgument, "", "a JSON path may search every level (..) once")
}

// pathsRule bounds every path of a call.
func pathsRule(a *analysis, n *node, _ string) *Error {
	args := n.list("children")
	for i := 1; i < len(args); i++ {
		if err := a.path(args[i].(*node), func(guarded *node) { args[i] = guarded }); err != nil {
			return err
		}
	}
	return nil
}

// arrow bounds the path of json -> path, which the parser cannot tell from a
// lambda.
func (a *analysis) arrow(n *node) *Error {
	return a.path(n.child("expr"), func(guarded *node) { n.set("expr", guarded) })
}

// path checks a constant path. What is computed, or is a parameter, may search
// no level at all: the engine takes such a path only where it can compute it
// before the statement runs.
func (a *analysis) path(arg *node, put func(guarded *node)) *Error {
	if paths, ok := constantPaths(arg); ok {
		for _, p := range paths {
			if strings.HasPrefix(p, pathStart) && strings.Count(p, everyLevel) > 1 {
				return errorPath()
			}
		}
		return nil
	}
	a.edit(func() {
		alias := arg.str("alias")
		check := func(use func() *node) *node {
			found := callNode("contains", false, castNode(use(), "VARCHAR"), textNode(everyLevel))
			isPath := callNode("starts_with", false, castNode(use(), "VARCHAR"), textNode(pathStart))
			return caseNode(found, caseNode(isPath, guardError(), use()), use())
		}
		var guarded *node
		if arg.is("class", "PARAMETER") {
			guarded = check(arg.clone) // it keeps the type of the value
		} else {
			guarded = guard([]operand{{"x", arg}}, func(use func(string) *node) *node {
				return check(func() *node { return use("x") })
			})
		}
		guarded.set("alias", alias)
		put(guarded)
	})
	return nil
}

// constantPaths are the texts of a constant or of a list of constants.
func constantPaths(arg *node) ([]string, bool) {
	if arg.is("class", "CONSTANT") && arg.child("value").flag("is_null") {
		return nil, true
	}
	if lit, ok := constantOf(arg); ok {
		return []string{lit.text}, true
	}
	if !arg.is("type", "ARRAY_CONSTRUCTOR") && !arg.is("function_name", "list_value") {
		return nil, false
	}
	var out []string
	for _, item := range arg.list("children") {
		lit, ok := constantOf(item.(*node))
		if !ok {
			return nil, false
		}
		out = append(out, lit.text)
	}
	return out, true
}
