package sqlguard

import (
	"bytes"
	"errors"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

var (
	errDepth     = errors.New("tree too deep")
	errMalformed = errors.New("malformed tree")
)

// decodeTree reads the output of the parser. Duplicate fields, trailing text
// and invalid UTF-8 are errors. Fields that are null are left out, which means
// the same to DuckDB; with lean, also those with another default and positions,
// for a tree that is only compared.
//
// The output is megabytes for a long statement and read twice, so this is a
// reader of its own for exactly what DuckDB writes; a fuzz test holds it
// against a general one.
func decodeTree(text []byte, maxDepth int, lean bool) (*node, error) {
	if !utf8.Valid(text) {
		return nil, errMalformed
	}
	d := decoder{text: text, known: map[string]string{}, depth: maxDepth, lean: lean}
	v, err := d.value(0)
	if err != nil {
		return nil, err
	}
	n, ok := v.(*node)
	if d.space(); !ok || d.at != len(text) {
		return nil, errMalformed
	}
	return n, nil
}

type decoder struct {
	text []byte
	at   int
	// known holds field names and short texts, each allocated once.
	known map[string]string
	// keys and vals are the fields, and items of lists, that are still open.
	keys  []string
	vals  []any
	depth int
	lean  bool
}

// internBytes is the length up to which a text is worth looking up.
const internBytes = 32

func (d *decoder) space() {
	for d.at < len(d.text) && (d.text[d.at] == ' ' || d.text[d.at] == '\n' || d.text[d.at] == '\t' || d.text[d.at] == '\r') {
		d.at++
	}
}

// next moves over white space and returns the byte after it, or 0.
func (d *decoder) next() byte {
	d.space()
	if d.at >= len(d.text) {
		return 0
	}
	return d.text[d.at]
}

func (d *decoder) value(depth int) (any, error) {
	if depth > d.depth {
		return nil, errDepth
	}
	switch c := d.next(); {
	case c == '{':
		return d.object(depth)
	case c == '[':
		return d.array(depth)
	case c == '"':
		return d.quoted()
	case c == '-' || c >= '0' && c <= '9':
		return d.number()
	case d.word("true"):
		return true, nil
	case d.word("false"):
		return false, nil
	case d.word("null"):
		return nil, nil
	}
	return nil, errMalformed
}

func (d *decoder) word(w string) bool {
	if !bytes.HasPrefix(d.text[d.at:], []byte(w)) {
		return false
	}
	d.at += len(w)
	return true
}

// number takes the characters of a number; whether they form one is checked by
// the general reader, as numbers are few and short.
func (d *decoder) number() (any, error) {
	start := d.at
	for d.at < len(d.text) && bytes.IndexByte([]byte("+-.eE0123456789"), d.text[d.at]) >= 0 {
		d.at++
	}
	raw := d.text[start:d.at]
	if s, ok := d.known[string(raw)]; ok {
		return number(s), nil
	}
	if !jsontext.Value(raw).IsValid() {
		return nil, errMalformed
	}
	return number(d.intern(raw)), nil
}

func (d *decoder) quoted() (string, error) {
	start := d.at
	escaped := false
	for d.at++; d.at < len(d.text); d.at++ {
		switch c := d.text[d.at]; {
		case c == '"':
			d.at++
			if !escaped {
				return d.intern(d.text[start+1 : d.at-1]), nil
			}
			b, err := jsontext.AppendUnquote(nil, d.text[start:d.at])
			if err != nil {
				return "", errMalformed
			}
			return string(b), nil
		case c == '\\':
			escaped = true
			d.at++
		case c < ' ':
			return "", errMalformed
		}
	}
	return "", errMalformed
}

func (d *decoder) intern(b []byte) string {
	if len(b) > internBytes {
		return string(b)
	}
	if s, ok := d.known[string(b)]; ok {
		return s
	}
	s := string(b)
	d.known[s] = s
	return s
}

// separator moves over a comma, or over the closing byte, and says which.
func (d *decoder) separator(closing byte) (done bool, err error) {
	c := d.next()
	d.at++
	if c != ',' && c != closing {
		return false, errMalformed
	}
	return c == closing, nil
}

func (d *decoder) array(depth int) (any, error) {
	d.at++
	if d.next() == ']' {
		d.at++
		return []any{}, nil
	}
	base := len(d.vals)
	for done := false; !done; {
		v, err := d.value(depth + 1)
		if err != nil {
			return nil, err
		}
		d.vals = append(d.vals, v)
		if done, err = d.separator(']'); err != nil {
			return nil, err
		}
	}
	out := append([]any(nil), d.vals[base:]...)
	d.vals = d.vals[:base]
	return out, nil
}

func (d *decoder) object(depth int) (any, error) {
	d.at++
	if d.next() == '}' {
		d.at++
		return &node{}, nil
	}
	keys, vals := len(d.keys), len(d.vals)
	for done := false; !done; {
		if d.next() != '"' {
			return nil, errMalformed
		}
		key, err := d.quoted()
		if err != nil {
			return nil, err
		}
		if d.next() != ':' {
			return nil, errMalformed
		}
		d.at++
		v, err := d.value(depth + 1)
		if err != nil {
			return nil, err
		}
		if v != nil && (!d.lean || key != "query_location" && (trueByDefault[key] || !isDefault(v))) {
			for _, k := range d.keys[keys:] {
				if k == key {
					return nil, errMalformed
				}
			}
			d.keys, d.vals = append(d.keys, key), append(d.vals, v)
		}
		if done, err = d.separator('}'); err != nil {
			return nil, err
		}
	}
	n := &node{keys: append([]string(nil), d.keys[keys:]...), vals: append([]any(nil), d.vals[vals:]...)}
	d.keys, d.vals = d.keys[:keys], d.vals[:vals]
	return n, nil
}
