package catalog

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// text checks a human-readable name: valid UTF-8 without control characters, no white
// space at the ends, and min to max characters.
func (e *FieldErrors) text(field, value string, min, max int) {
	if !utf8.ValidString(value) {
		e.add(field, "must be valid UTF-8")
		return
	}
	n := utf8.RuneCountInString(value)
	switch {
	case n < min && min == 1:
		e.add(field, "must not be empty")
		return
	case n < min:
		e.add(field, "must have at least %d characters", min)
		return
	case n > max:
		e.add(field, "must have at most %d characters", max)
		return
	}
	first, _ := utf8.DecodeRuneInString(value)
	last, _ := utf8.DecodeLastRuneInString(value)
	if n > 0 && (unicode.IsSpace(first) || unicode.IsSpace(last)) {
		e.add(field, "must not start or end with white space")
		return
	}
	for _, r := range value {
		// Format characters include the bidirectional overrides, which can make one
		// name look like another.
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			e.add(field, "must not contain control characters")
			return
		}
	}
}

// object checks that raw is empty or one JSON object of at most max bytes.
func (e *FieldErrors) object(field string, raw json.RawMessage, max int) {
	if len(raw) == 0 {
		return
	}
	if len(raw) > max {
		e.add(field, "must have at most %d bytes", max)
		return
	}
	if trimmed := bytes.TrimSpace(raw); !json.Valid(raw) || len(trimmed) == 0 || trimmed[0] != '{' {
		e.add(field, "must be a JSON object")
	}
}

// storableText reports whether both databases store value unchanged: Postgres refuses
// NUL and invalid UTF-8 in text.
func storableText(value string) bool {
	return utf8.ValidString(value) && !strings.ContainsRune(value, 0)
}

func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}
