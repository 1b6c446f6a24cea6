package sqltree

import (
	"slices"
	"strings"
)

// Step tells [Walk] how to continue after a node.
type Step int

// The steps.
const (
	// Into: visit the nodes below.
	Into Step = iota
	// Over: leave out the nodes below.
	Over
	// Stop: end the walk.
	Stop
)

// Walk visits the nodes of v, each before the nodes below it, and reports whether a visit
// returned [Stop]. A visit may change the node; Walk continues with its new content.
func Walk(v any, visit func(*Node) Step) (stopped bool) {
	switch v := v.(type) {
	case *Node:
		if v == nil {
			return false
		}
		switch visit(v) {
		case Over:
			return false
		case Stop:
			return true
		}
		return Walk(v.vals, visit)
	case []any:
		for _, x := range v {
			if Walk(x, visit) {
				return true
			}
		}
	}
	return false
}

// Contains reports whether v contains an expression of a class outside its subqueries.
func Contains(v any, class string) bool {
	return Walk(v, func(n *Node) Step {
		switch {
		case n.Is("class", class):
			return Stop
		case n.Child("node") != nil:
			return Over // the statement of a subquery
		}
		return Into
	})
}

// Conjuncts returns the conditions that the top-level ANDs of e connect.
func Conjuncts(e *Node) []*Node {
	if e == nil {
		return nil
	}
	if !e.Is("type", "CONJUNCTION_AND") {
		return []*Node{e}
	}
	var out []*Node
	for c := range e.Each("children") {
		out = append(out, Conjuncts(c)...)
	}
	return out
}

// LambdaParameters returns the names of a lambda's parameters in lower case, in order.
func LambdaParameters(lambda *Node) []string {
	var out []string
	for _, p := range LambdaArguments(lambda) {
		if parts := p.(*Node).Strings("column_names"); len(parts) == 1 {
			out = append(out, strings.ToLower(parts[0]))
		}
	}
	return out
}

// LambdaArguments returns the parameters of a lambda as expressions.
func LambdaArguments(lambda *Node) []any {
	if lhs := lambda.Child("lhs"); lhs.Is("class", "FUNCTION") {
		return lhs.List("children")
	}
	return []any{lambda.Get("lhs")}
}

// PlainStar reports whether n is * and nothing else.
func PlainStar(n *Node) bool {
	if !n.Is("class", "STAR") || n.Str("relation_name") != "" || n.Flag("columns") || n.Child("expr") != nil {
		return false
	}
	parts := []string{"exclude_list", "replace_list", "qualified_exclude_list", "rename_list"}
	return !slices.ContainsFunc(parts, func(part string) bool { return len(n.List(part)) > 0 })
}

// Set returns a set of names.
func Set(names ...string) map[string]bool {
	out := make(map[string]bool, len(names))
	for _, n := range names {
		out[n] = true
	}
	return out
}
