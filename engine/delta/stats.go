package delta

import (
	stdjson "encoding/json"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Stats holds a file's statistics. Bounds are JSON, because their form depends on the
// column's type.
type Stats struct {
	// NumRecords is the number of physical rows; nil if unknown.
	NumRecords *int64
	// TightBounds is false if the bounds may be wider than the values.
	TightBounds bool
	MinValues   map[string]stdjson.RawMessage
	MaxValues   map[string]stdjson.RawMessage
	NullCount   map[string]stdjson.RawMessage
}

// Stats parses the file's statistics. Without statistics it returns only TightBounds.
// The error is [ErrMalformed].
func (f File) Stats() (Stats, error) {
	s := Stats{TightBounds: true}
	if f.Add.Stats == "" {
		return s, nil
	}
	var raw struct {
		NumRecords  *int64                        `json:"numRecords"`
		TightBounds *bool                         `json:"tightBounds"`
		MinValues   map[string]stdjson.RawMessage `json:"minValues"`
		MaxValues   map[string]stdjson.RawMessage `json:"maxValues"`
		NullCount   map[string]stdjson.RawMessage `json:"nullCount"`
	}
	if err := json.Unmarshal([]byte(f.Add.Stats), &raw); err != nil {
		return Stats{}, fmt.Errorf("statistics of %q: %w", f.Name, ErrMalformed)
	}
	s.NumRecords, s.MinValues, s.MaxValues, s.NullCount = raw.NumRecords, raw.MinValues, raw.MaxValues, raw.NullCount
	if raw.TightBounds != nil {
		s.TightBounds = *raw.TightBounds
	}
	return s, nil
}

// numRecords returns the row count in statistics without parsing the rest.
func numRecords(stats string) (int64, bool) {
	dec := jsontext.NewDecoder(strings.NewReader(stats))
	if tok, err := dec.ReadToken(); err != nil || tok.Kind() != '{' {
		return 0, false
	}
	for dec.PeekKind() == '"' {
		tok, err := dec.ReadToken()
		if err != nil {
			return 0, false
		}
		if tok.String() != "numRecords" {
			if dec.SkipValue() != nil {
				return 0, false
			}
			continue
		}
		var n int64
		if dec.PeekKind() != '0' || json.UnmarshalDecode(dec, &n) != nil || n < 0 {
			return 0, false
		}
		return n, true
	}
	return 0, false
}
