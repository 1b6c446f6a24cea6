package analysis

import (
	"encoding/json"
	"strings"

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
		return QuoteSQL(text)
	}
	return "CAST(" + QuoteSQL(text) + " AS " + c.Type.String() + ")"
}

// QuoteSQL returns the SQL of a text. A statement cannot hold the character NUL, but a text can.
func QuoteSQL(text string) string {
	if !strings.Contains(text, "\x00") {
		return engine.QuoteString(text)
	}
	parts := strings.Split(text, "\x00")
	for i, part := range parts {
		parts[i] = engine.QuoteString(part)
	}
	return "concat(" + strings.Join(parts, ", chr(0), ") + ")"
}
