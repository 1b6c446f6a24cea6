package analysis

import (
	"encoding/json"

	"github.com/lakewarden/lakewarden/engine"
)

// JSONValue returns a value of a column, given as DuckDB's text of it, as a request that
// writes rows takes it. A nil text is NULL.
func JSONValue(c Column, text *string) any {
	if text == nil {
		return nil
	}
	switch c.Kind() {
	case KindBoolean:
		return *text == "true"
	case KindInteger, KindFloat:
		if json.Valid([]byte(*text)) {
			return json.Number(*text)
		}
	}
	return *text
}

// Literal returns the SQL of a value of a column, given as DuckDB's text of it.
func Literal(c Column, text string) string {
	if c.Kind() == KindText {
		return engine.QuoteString(text)
	}
	return "CAST(" + engine.QuoteString(text) + " AS " + c.Type.String() + ")"
}
