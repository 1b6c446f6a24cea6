package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// root is the field of a request body that contains a definition.
const root = "definition"

// Decode decodes the JSON form of a definition. Unknown members, duplicate members and values of a
// wrong type are errors of type [*FieldError]. It checks form only; [Definition.Validate] checks
// meaning.
func Decode(raw []byte) (Definition, error) {
	tree, err := decodeTree(raw)
	if err != nil {
		return Definition{}, err
	}
	o, err := asObject(root, tree, "effect", "subject", "condition", "mask")
	if err != nil {
		return Definition{}, err
	}
	var d Definition
	effect, err := o.str("effect")
	if err != nil {
		return Definition{}, err
	}
	if effect != nil {
		d.Effect = Effect(*effect)
	}
	if d.Mask, err = o.str("mask"); err != nil {
		return Definition{}, err
	}
	if v := o.members["subject"]; v != nil {
		if d.Subject, err = decodeSubject(root+".subject", v); err != nil {
			return Definition{}, err
		}
	}
	if v := o.members["condition"]; v != nil {
		c, err := decodeCondition(root+".condition", v, 1)
		if err != nil {
			return Definition{}, err
		}
		d.Condition = &c
	}
	return d, nil
}

func decodeSubject(path string, tree any) (Subject, error) {
	o, err := asObject(path, tree, "everyone", "role", "attribute", "op", "value")
	if err != nil {
		return Subject{}, err
	}
	var s Subject
	if v := o.members["everyone"]; v != nil {
		b, ok := v.(bool)
		if !ok {
			return Subject{}, invalid(path+".everyone", "must be true or false")
		}
		s.Everyone = &b
	}
	if s.Role, err = o.str("role"); err != nil {
		return Subject{}, err
	}
	if s.Attribute, err = o.str("attribute"); err != nil {
		return Subject{}, err
	}
	op, err := o.str("op")
	if err != nil {
		return Subject{}, err
	}
	if op != nil {
		v := Op(*op)
		s.Op = &v
	}
	s.Value, err = decodeValue(path+".value", o.members["value"])
	return s, err
}

func decodeCondition(path string, tree any, depth int) (Condition, error) {
	if depth > MaxDepth {
		return Condition{}, &FieldError{path, CodeTooLarge, fmt.Sprintf("is nested deeper than %d levels", MaxDepth)}
	}
	o, err := asObject(path, tree, "column", "op", "value", "attribute", "and", "or", "not")
	if err != nil {
		return Condition{}, err
	}
	var c Condition
	if c.Column, err = o.str("column"); err != nil {
		return Condition{}, err
	}
	op, err := o.str("op")
	if err != nil {
		return Condition{}, err
	}
	if op != nil {
		c.Op = Op(*op)
	}
	if c.Attribute, err = o.str("attribute"); err != nil {
		return Condition{}, err
	}
	if c.Value, err = decodeValue(path+".value", o.members["value"]); err != nil {
		return Condition{}, err
	}
	if c.And, err = decodeList(path+".and", o.members["and"], depth); err != nil {
		return Condition{}, err
	}
	if c.Or, err = decodeList(path+".or", o.members["or"], depth); err != nil {
		return Condition{}, err
	}
	if v := o.members["not"]; v != nil {
		not, err := decodeCondition(path+".not", v, depth+1)
		if err != nil {
			return Condition{}, err
		}
		c.Not = &not
	}
	return c, nil
}

func decodeList(path string, tree any, depth int) ([]Condition, error) {
	if tree == nil {
		return nil, nil
	}
	items, ok := tree.([]any)
	if !ok {
		return nil, invalid(path, "must be an array of conditions")
	}
	if len(items) == 0 {
		return nil, invalid(path, "must hold at least one condition")
	}
	if len(items) > MaxLeaves {
		return nil, &FieldError{path, CodeTooLarge, fmt.Sprintf("holds more than %d conditions", MaxLeaves)}
	}
	out := make([]Condition, len(items))
	for i, item := range items {
		c, err := decodeCondition(fmt.Sprintf("%s[%d]", path, i), item, depth+1)
		if err != nil {
			return nil, err
		}
		out[i] = c
	}
	return out, nil
}

// decodeValue checks a scalar or a list of scalars and converts numbers to their shortest decimal
// form.
func decodeValue(path string, tree any) (any, error) {
	switch v := tree.(type) {
	case nil, bool, string:
		return v, nil
	case json.Number:
		n, ok := canonicalNumber(v.String())
		if !ok {
			return nil, invalid(path, "must be a number of at most 64 bits, with at most 4 fractional digits")
		}
		return n, nil
	case []any:
		if len(v) > MaxListValues {
			return nil, &FieldError{path, CodeTooLarge, fmt.Sprintf("holds more than %d values", MaxListValues)}
		}
		out := make([]any, len(v))
		for i, item := range v {
			at := fmt.Sprintf("%s[%d]", path, i)
			if _, nested := item.([]any); nested || item == nil {
				return nil, invalid(at, "must be a string, a number or a boolean")
			}
			got, err := decodeValue(at, item)
			if err != nil {
				return nil, err
			}
			out[i] = got
		}
		return out, nil
	}
	return nil, invalid(path, "must be a string, a number, a boolean or an array of those")
}

// object is a decoded JSON object whose member names are checked.
type object struct {
	path    string
	members map[string]any
}

func asObject(path string, tree any, allowed ...string) (object, error) {
	m, ok := tree.(map[string]any)
	if !ok {
		return object{}, invalid(path, "must be an object")
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if !slices.Contains(allowed, name) {
			return object{}, &FieldError{path + "." + clip(name), CodeUnknownField, "is not a known member; known are " +
				strings.Join(allowed, ", ")}
		}
	}
	return object{path, m}, nil
}

// str returns a member that is a string, or nil if it is absent or null.
func (o object) str(name string) (*string, error) {
	v := o.members[name]
	if v == nil {
		return nil, nil
	}
	s, ok := v.(string)
	if !ok {
		return nil, invalid(o.path+"."+name, "must be a string")
	}
	return &s, nil
}

// clip shortens a name sent by a client for a message.
func clip(name string) string {
	if len(name) > 64 {
		return strings.ToValidUTF8(name[:64], "") + "…"
	}
	return name
}

// errMalformed is syntax that encoding/json does not accept.
var errMalformed = errors.New("malformed JSON")

// decodeTree decodes JSON into maps, slices, strings, booleans and numbers. Unlike encoding/json it
// refuses duplicate members: two readers that use different ones would see two policies.
func decodeTree(raw []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	tree, err := readValue(dec, root, 0)
	if err == nil {
		if _, tail := dec.Token(); !errors.Is(tail, io.EOF) {
			err = errMalformed
		}
	}
	var field *FieldError
	if err != nil && !errors.As(err, &field) {
		return nil, invalid(root, "must be valid JSON")
	}
	return tree, err
}

// maxJSONDepth allows for the containers around MaxDepth conditions.
const maxJSONDepth = 4 * MaxDepth

func readValue(dec *json.Decoder, path string, depth int) (any, error) {
	if depth > maxJSONDepth {
		return nil, &FieldError{root, CodeTooLarge, "is nested too deeply"}
	}
	tok, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch tok {
	case json.Delim('{'):
		members := map[string]any{}
		for dec.More() {
			key, err := dec.Token()
			if err != nil {
				return nil, err
			}
			name, ok := key.(string)
			if !ok {
				return nil, errMalformed
			}
			at := path + "." + clip(name)
			if _, twice := members[name]; twice {
				return nil, invalid(at, "is given twice")
			}
			if members[name], err = readValue(dec, at, depth+1); err != nil {
				return nil, err
			}
		}
		_, err = dec.Token()
		return members, err
	case json.Delim('['):
		items := []any{}
		for dec.More() {
			item, err := readValue(dec, fmt.Sprintf("%s[%d]", path, len(items)), depth+1)
			if err != nil {
				return nil, err
			}
			items = append(items, item)
		}
		_, err = dec.Token()
		return items, err
	}
	return tok, nil
}
