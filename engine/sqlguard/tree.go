package sqlguard

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// node is one JSON object of DuckDB's tree. Values are *node, []any, string,
// number, bool or nil. Order of fields is kept, so that printing is stable.
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
	n.keys = append(n.keys, key)
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
	out := &node{keys: append([]string(nil), n.keys...), vals: make([]any, len(n.vals))}
	for i, v := range n.vals {
		out.vals[i] = cloneValue(v)
	}
	return out
}

var errDepth = errors.New("tree too deep")

// decodeTree reads the output of the parser. Duplicate fields, trailing text
// and invalid UTF-8 are errors.
func decodeTree(text []byte, maxDepth int) (*node, error) {
	d := decoder{in: jsontext.NewDecoder(bytes.NewReader(text)), keys: map[string]string{}, depth: maxDepth}
	v, err := d.value(0)
	if err != nil {
		return nil, err
	}
	if _, err := d.in.ReadToken(); err != io.EOF {
		return nil, errors.New("text after the tree")
	}
	n, ok := v.(*node)
	if !ok {
		return nil, errors.New("tree is not an object")
	}
	return n, nil
}

type decoder struct {
	in    *jsontext.Decoder
	keys  map[string]string // field names, each allocated once
	depth int
}

func (d *decoder) value(depth int) (any, error) {
	if depth > d.depth {
		return nil, errDepth
	}
	tok, err := d.in.ReadToken()
	if err != nil {
		return nil, err
	}
	switch tok.Kind() {
	case 'n':
		return nil, nil
	case 't':
		return true, nil
	case 'f':
		return false, nil
	case '"':
		return tok.String(), nil
	case '0':
		return number(tok.String()), nil
	case '[':
		out := []any{}
		for d.in.PeekKind() != ']' {
			v, err := d.value(depth + 1)
			if err != nil {
				return nil, err
			}
			out = append(out, v)
		}
		_, err := d.in.ReadToken()
		return out, err
	case '{':
		return d.object(depth)
	}
	return nil, errors.New("unexpected token")
}

func (d *decoder) object(depth int) (any, error) {
	n := &node{keys: make([]string, 0, 8), vals: make([]any, 0, 8)}
	for d.in.PeekKind() != '}' {
		tok, err := d.in.ReadToken()
		if err != nil {
			return nil, err
		}
		if tok.Kind() != '"' {
			return nil, errors.New("field name expected")
		}
		key := tok.String()
		if k, ok := d.keys[key]; ok {
			key = k
		} else {
			key = strings.Clone(key)
			d.keys[key] = key
		}
		v, err := d.value(depth + 1)
		if err != nil {
			return nil, err
		}
		n.keys = append(n.keys, key)
		n.vals = append(n.vals, v)
	}
	_, err := d.in.ReadToken()
	return n, err
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
