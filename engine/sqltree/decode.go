package sqltree

import (
	"bytes"
	"errors"
	"slices"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// ErrDepth is returned by [Decode] for a tree that is nested too deeply.
var ErrDepth = errors.New("tree too deep")

var errMalformed = errors.New("malformed tree")

// Decode reads the output of the parser. Duplicate fields, trailing text and invalid UTF-8
// are errors. Fields that are null are left out, which DuckDB reads as null. With lean,
// positions and fields with another default are left out too, for a tree that is only
// compared.
//
// The output is megabytes for a long statement and read twice, so this reader accepts
// exactly what DuckDB writes. A fuzz test compares it with encoding/json.
func Decode(text []byte, maxDepth int, lean bool) (*Node, error) {
	if !utf8.Valid(text) {
		return nil, errMalformed
	}
	d := decoder{text: text, depth: maxDepth, lean: lean}
	v, err := d.value(0)
	if err != nil {
		return nil, err
	}
	n, ok := v.(*Node)
	if d.space(); !ok || d.at != len(text) {
		return nil, errMalformed
	}
	return n, nil
}

type decoder struct {
	text []byte
	at   int
	// texts and numbers cache short texts and numbers in their boxed form, because nearly
	// all of them recur.
	texts, numbers [knownSlots]known
	// shapes holds lists of field names: nodes of one kind share theirs.
	shapes [knownSlots][]string
	// keys and vals are the fields, and items of lists, that are still open.
	keys  []string
	vals  []any
	depth int
	lean  bool
}

const (
	// knownBytes is the length up to which a text is worth looking up.
	knownBytes = 32
	knownSlots = 256
)

// known is one text with its boxed value, a string or a number.
type known struct {
	text string
	any  any
}

// slot returns the cache slot of a short text. A text replaces the one in the same slot.
func slot(b []byte) int {
	n := len(b)
	if n == 0 {
		return 0
	}
	return (n*31 + int(b[0])*7 + int(b[n/2])*13 + int(b[n-1])) % knownSlots
}

func (d *decoder) space() {
	for d.at < len(d.text) && (d.text[d.at] == ' ' || d.text[d.at] == '\n' || d.text[d.at] == '\t' || d.text[d.at] == '\r') {
		d.at++
	}
}

// next skips white space and returns the byte after it, or 0.
func (d *decoder) next() byte {
	d.space()
	if d.at >= len(d.text) {
		return 0
	}
	return d.text[d.at]
}

func (d *decoder) value(depth int) (any, error) {
	if depth > d.depth {
		return nil, ErrDepth
	}
	switch c := d.next(); {
	case c == '{':
		return d.object(depth)
	case c == '[':
		return d.array(depth)
	case c == '"':
		_, boxed, err := d.quoted()
		return boxed, err
	case d.word("Infinity"): // a constant beyond the range of DOUBLE
		return Number("Infinity"), nil
	case d.word("-Infinity"):
		return Number("-Infinity"), nil
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

// number reads the characters of a number. Whether they form one is checked by jsontext, as
// numbers are few and short.
func (d *decoder) number() (any, error) {
	start := d.at
	for d.at < len(d.text) && isNumeric(d.text[d.at]) {
		d.at++
	}
	raw := d.text[start:d.at]
	k := &d.numbers[slot(raw)]
	if k.any != nil && k.text == string(raw) {
		return k.any, nil
	}
	if !isPlain(raw) && !jsontext.Value(raw).IsValid() {
		return nil, errMalformed
	}
	text := string(raw)
	*k = known{text, Number(text)}
	return k.any, nil
}

func isNumeric(c byte) bool {
	return c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E'
}

// isPlain reports whether raw consists of digits without a leading zero, as positions do.
func isPlain(raw []byte) bool {
	for _, c := range raw {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(raw) > 0 && raw[0] != '0'
}

// quoted reads a text and also returns it boxed.
func (d *decoder) quoted() (string, any, error) {
	start := d.at
	escaped := false
	for d.at++; d.at < len(d.text); d.at++ {
		switch c := d.text[d.at]; {
		case c == '"':
			d.at++
			if !escaped {
				s, boxed := d.keep(d.text[start+1 : d.at-1])
				return s, boxed, nil
			}
			b, err := jsontext.AppendUnquote(nil, d.text[start:d.at])
			if err != nil {
				return "", nil, errMalformed
			}
			return string(b), string(b), nil
		case c == '\\':
			escaped = true
			d.at++
		case c < ' ':
			return "", nil, errMalformed
		}
	}
	return "", nil, errMalformed
}

func (d *decoder) keep(b []byte) (string, any) {
	if len(b) > knownBytes {
		s := string(b)
		return s, s
	}
	k := &d.texts[slot(b)]
	if k.any == nil || k.text != string(b) {
		s := string(b)
		*k = known{s, s}
	}
	return k.text, k.any
}

// separator skips a comma or the closing byte, and reports whether it was the latter.
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
		return &Node{}, nil
	}
	keys, vals := len(d.keys), len(d.vals)
	for done := false; !done; {
		if d.next() != '"' {
			return nil, errMalformed
		}
		key, _, err := d.quoted()
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
		if v != nil && (!d.lean || key != "query_location" && (trueByDefault[key] || !IsDefault(v))) {
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
	n := &Node{keys: d.shape(d.keys[keys:]), vals: append([]any(nil), d.vals[vals:]...)}
	d.keys, d.vals = d.keys[:keys], d.vals[:vals]
	return n, nil
}

// shape returns the same list for the same names. The list is read-only: adding a field to
// a node makes a new list.
func (d *decoder) shape(names []string) []string {
	at := len(names) * 31
	for _, name := range names {
		at += len(name)
	}
	known := &d.shapes[at%knownSlots]
	if !slices.Equal(*known, names) {
		*known = slices.Clone(names)
	}
	return slices.Clip(*known)
}
