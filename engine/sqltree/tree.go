package sqltree

import (
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Node is one JSON object of DuckDB's tree. Its values are *Node, []any, string, [Number],
// bool or nil. The order of fields is preserved. All methods that read accept a nil Node,
// which has no fields.
//
// Nodes share their lists of keys, which are never written to.
type Node struct {
	keys []string
	vals []any
}

// Number is a JSON number as exact text. Positions reach 2^64-1, which a float64 would
// change into a number that DuckDB does not accept.
type Number string

// Object returns a node with the given fields, as name and value in turn.
func Object(pairs ...any) *Node {
	n := &Node{}
	for i := 0; i < len(pairs); i += 2 {
		n.keys = append(n.keys, pairs[i].(string))
		n.vals = append(n.vals, pairs[i+1])
	}
	return n
}

// Get returns a field's value, or nil when the field is absent.
func (n *Node) Get(key string) any {
	if n == nil {
		return nil
	}
	for i, k := range n.keys {
		if k == key {
			return n.vals[i]
		}
	}
	return nil
}

// Set changes or adds a field.
func (n *Node) Set(key string, v any) {
	for i, k := range n.keys {
		if k == key {
			n.vals[i] = v
			return
		}
	}
	n.keys = append(slices.Clip(n.keys), key)
	n.vals = append(n.vals, v)
}

// Str returns a field's text, or an empty string.
func (n *Node) Str(key string) string { s, _ := n.Get(key).(string); return s }

// Flag returns a field's flag, or false.
func (n *Node) Flag(key string) bool { b, _ := n.Get(key).(bool); return b }

// Child returns a field's node, or nil.
func (n *Node) Child(key string) *Node { c, _ := n.Get(key).(*Node); return c }

// List returns a field's list, or nil.
func (n *Node) List(key string) []any { l, _ := n.Get(key).([]any); return l }

// Is reports whether a field has the given text.
func (n *Node) Is(field, text string) bool { return n != nil && n.Str(field) == text }

// Become replaces the content of n with that of o.
func (n *Node) Become(o *Node) { n.keys, n.vals = o.keys, o.vals }

// Strings returns the texts of a list.
func (n *Node) Strings(key string) []string {
	list := n.List(key)
	out := make([]string, 0, len(list))
	for _, v := range list {
		s, _ := v.(string)
		out = append(out, s)
	}
	return out
}

// Each iterates over the nodes of a list. An item that is not a node is nil.
func (n *Node) Each(key string) iter.Seq[*Node] {
	return func(yield func(*Node) bool) {
		for _, v := range n.List(key) {
			if c, _ := v.(*Node); !yield(c) {
				return
			}
		}
	}
}

// Nodes returns the nodes of a list, as [Node.Each].
func (n *Node) Nodes(key string) []*Node { return slices.Collect(n.Each(key)) }

// Function returns the name of the function that n calls, in lower case.
func (n *Node) Function() string { return strings.ToLower(n.Str("function_name")) }

// Argument returns the i-th child of n, or nil.
func (n *Node) Argument(i int) *Node {
	if args := n.List("children"); i < len(args) {
		c, _ := args[i].(*Node)
		return c
	}
	return nil
}

// Fields returns the fields of n with their values, in order.
func (n *Node) Fields() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		if n == nil {
			return
		}
		for i, k := range n.keys {
			if !yield(k, n.vals[i]) {
				return
			}
		}
	}
}

// Convert returns a copy of n whose fields have the values that f returns for them.
func (n *Node) Convert(f func(key string, v any) any) *Node {
	out := &Node{keys: n.keys, vals: make([]any, len(n.vals))}
	for i, v := range n.vals {
		out.vals[i] = f(n.keys[i], v)
	}
	return out
}

// Clone returns a deep copy of n.
func (n *Node) Clone() *Node { return n.CloneNoting(func(from, to *Node) {}) }

// CloneNoting returns a deep copy of n. It calls note with every node and its finished
// copy, children first.
func (n *Node) CloneNoting(note func(from, to *Node)) *Node {
	if n == nil {
		return nil
	}
	out := &Node{keys: n.keys, vals: make([]any, len(n.vals))}
	for i, v := range n.vals {
		out.vals[i] = cloneValue(v, note)
	}
	note(n, out)
	return out
}

func cloneValue(v any, note func(from, to *Node)) any {
	switch v := v.(type) {
	case *Node:
		return v.CloneNoting(note)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = cloneValue(e, note)
		}
		return out
	}
	return v
}

// Encode appends the JSON of v, which must consist of the types of a tree.
func Encode(b []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...)
	case bool:
		if v {
			return append(b, "true"...)
		}
		return append(b, "false"...)
	case Number:
		return append(b, v...)
	case string:
		b, _ = jsontext.AppendQuote(b, v)
		return b
	case []any:
		b = append(b, '[')
		for i, e := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = Encode(b, e)
		}
		return append(b, ']')
	case *Node:
		if v == nil {
			return append(b, "null"...)
		}
		b = append(b, '{')
		for i, k := range v.keys {
			if i > 0 {
				b = append(b, ',')
			}
			b, _ = jsontext.AppendQuote(b, k)
			b = append(b, ':')
			b = Encode(b, v.vals[i])
		}
		return append(b, '}')
	}
	panic("sqlguard: value outside the tree's types")
}

// Offset returns the byte offset in the text that the parser gave n, or -1.
func Offset(n *Node) int {
	v, ok := n.Get("query_location").(Number)
	if !ok {
		return -1
	}
	i, err := strconv.Atoi(string(v)) // "none" is 2^64-1, which does not fit
	if err != nil {
		return -1
	}
	return i
}

// Unset removes a field.
func (n *Node) Unset(key string) {
	if i := slices.Index(n.keys, key); i >= 0 {
		n.keys = slices.Concat(n.keys[:i], n.keys[i+1:])
		n.vals = slices.Delete(n.vals, i, i+1)
	}
}

// StatementOf returns the first statement of a document.
func StatementOf(root *Node) *Node {
	list := root.List("statements")
	if len(list) == 0 {
		return nil
	}
	stmt, _ := list[0].(*Node)
	return stmt
}
