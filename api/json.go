package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
)

// maxJSONDepth bounds the nesting of a request body.
const maxJSONDepth = 64

var (
	errDepth     = errors.New("JSON is nested too deeply")
	errDuplicate = errors.New("JSON object has a member twice")
	errEncoding  = errors.New("JSON is not UTF-8")
)

// jsonFormat reads strictly: no member twice (two readers could take different
// ones), no more than maxJSONDepth levels, nothing after the document, and no
// bytes outside UTF-8, which would otherwise turn into other text silently.
var jsonFormat = huma.Format{
	Marshal: func(w io.Writer, v any) error {
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		return enc.Encode(v)
	},
	Unmarshal: func(data []byte, v any) error {
		if err := checkJSON(data); err != nil {
			return err
		}
		return json.Unmarshal(data, v)
	},
}

// checkJSON walks the tokens of a document.
func checkJSON(data []byte) error {
	if !utf8.Valid(data) {
		return errEncoding
	}
	type level struct {
		names map[string]bool // nil inside an array
		value bool            // an object expects a value next
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var stack []level
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch t := token.(type) {
		case json.Delim:
			if t == '}' || t == ']' {
				stack = stack[:len(stack)-1]
				break
			}
			if len(stack) == maxJSONDepth {
				return errDepth
			}
			if n := len(stack); n > 0 {
				stack[n-1].value = false
			}
			next := level{}
			if t == '{' {
				next.names = map[string]bool{}
			}
			stack = append(stack, next)
		default:
			n := len(stack)
			if n == 0 || stack[n-1].names == nil {
				break
			}
			top := &stack[n-1]
			if top.value {
				top.value = false
				break
			}
			name, _ := token.(string)
			if top.names[name] {
				return errDuplicate
			}
			top.names[name], top.value = true, true
		}
	}
}
