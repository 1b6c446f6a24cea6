package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json/jsontext"
)

// The bounds of a JSON body keep the cost of a body in proportion to its length. The
// largest useful body describes a table of ten thousand columns.
const (
	maxJSONDepth   = 64
	maxJSONValues  = 100_000
	maxJSONMembers = 10_000 // of one object, and items of one list
	maxJSONName    = 4 << 10
)

// The texts of these errors reach the client: see [problem.Validation].
var (
	errDepth   = fmt.Errorf("is nested deeper than %d levels", maxJSONDepth)
	errValues  = fmt.Errorf("has more than %d values", maxJSONValues)
	errMembers = fmt.Errorf("has more than %d members in one object or items in one list", maxJSONMembers)
	errName    = fmt.Errorf("has a name of more than %d bytes", maxJSONName)
	errJSON    = errors.New("is not valid JSON in UTF-8, or an object has a duplicate member name")
)

// jsonFormat decodes strictly. It refuses bodies beyond the bounds, duplicate member
// names, which two readers could resolve differently, data after the document, and
// invalid UTF-8, which would otherwise be replaced silently.
var jsonFormat = huma.Format{
	Marshal: func(w io.Writer, v any) error {
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		return enc.Encode(v)
	},
	Unmarshal: func(data []byte, v any) error {
		if err := withinBounds(data); err != nil {
			return err
		}
		// The framework decodes every body twice, even one that it refuses: first into an
		// any, which it validates, then into the input.
		if _, first := v.(*any); first && !jsontext.Value(data).IsValid() {
			return errJSON
		}
		return json.Unmarshal(data, v)
	},
}

// withinBounds checks the depth, values, members, items and names of a JSON text.
// It allocates nothing. The result for invalid JSON is unspecified.
func withinBounds(data []byte) error {
	var members [maxJSONDepth + 1]int
	depth, values, name := 0, 1, 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '{', '[':
			if depth++; depth > maxJSONDepth {
				return errDepth
			}
			members[depth] = 0
			values++
		case '}', ']':
			depth = max(depth-1, 0)
		case ',':
			values++
			if members[depth]++; members[depth] >= maxJSONMembers { // a further one follows
				return errMembers
			}
		case ':':
			if name > maxJSONName {
				return errName
			}
		case '"':
			start := i
			for i++; i < len(data) && data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
			name = i - start - 1
		}
		if values > maxJSONValues {
			return errValues
		}
	}
	return nil
}
