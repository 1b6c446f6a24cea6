package sqlguard

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// node is one JSON object of DuckDB's tree. Values are *node, []any, string,
// number, bool or nil. Order of fields is kept, so that printing is stable.
//
// Nodes share their lists of keys, which are never written to.
type node struct {
	keys []string
	vals []any
}

// number is a JSON number as exact text. Positions reach 2^64-1, which a
// float64 would change into something that DuckDB does not read back.
type number string

func obj(pairs ...any) *node {
	n := &node{}
	for i := 0; i < len(pairs); i += 2 {
		n.keys = append(n.keys, pairs[i].(string))
		n.vals = append(n.vals, pairs[i+1])
	}
	return n
}

// get returns a field's value, or nil when the field is absent.
func (n *node) get(key string) any {
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

func (n *node) set(key string, v any) {
	for i, k := range n.keys {
		if k == key {
			n.vals[i] = v
			return
		}
	}
	n.keys = append(slices.Clip(n.keys), key)
	n.vals = append(n.vals, v)
}

func (n *node) str(key string) string     { s, _ := n.get(key).(string); return s }
func (n *node) flag(key string) bool      { b, _ := n.get(key).(bool); return b }
func (n *node) child(key string) *node    { c, _ := n.get(key).(*node); return c }
func (n *node) list(key string) []any     { l, _ := n.get(key).([]any); return l }
func (n *node) is(field, val string) bool { return n != nil && n.str(field) == val }

// become replaces n's content, for everyone who holds n.
func (n *node) become(o *node) { n.keys, n.vals = o.keys, o.vals }

func (n *node) strings(key string) []string {
	list := n.list(key)
	out := make([]string, 0, len(list))
	for _, v := range list {
		s, _ := v.(string)
		out = append(out, s)
	}
	return out
}

func cloneValue(v any) any {
	switch v := v.(type) {
	case *node:
		return v.clone()
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = cloneValue(e)
		}
		return out
	}
	return v
}

func (n *node) clone() *node {
	if n == nil {
		return nil
	}
	out := &node{keys: n.keys, vals: make([]any, len(n.vals))}
	for i, v := range n.vals {
		out.vals[i] = cloneValue(v)
	}
	return out
}

// encode appends the JSON of v.
func encode(b []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...)
	case bool:
		if v {
			return append(b, "true"...)
		}
		return append(b, "false"...)
	case number:
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
			b = encode(b, e)
		}
		return append(b, ']')
	case *node:
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
			b = encode(b, v.vals[i])
		}
		return append(b, '}')
	}
	panic("sqlguard: value outside the tree's types")
}
