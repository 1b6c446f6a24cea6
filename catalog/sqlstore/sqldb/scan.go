package sqldb

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Micros returns the stored form of a time.
func Micros(t time.Time) int64 { return t.UnixMicro() }

// MicrosOrNull stores the zero time as NULL.
func MicrosOrNull(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}

// TextOrNull stores the empty text as NULL.
func TextOrNull[T ~string](text T) any {
	if text == "" {
		return nil
	}
	return string(text)
}

// Time returns a destination for microseconds, NULL as the zero time.
func Time(dest *time.Time) sql.Scanner { return timeDest{dest} }

type timeDest struct{ dest *time.Time }

func (t timeDest) Scan(value any) error {
	switch v := value.(type) {
	case nil:
		*t.dest = time.Time{}
	case int64:
		*t.dest = time.UnixMicro(v).UTC()
	default:
		return fmt.Errorf("scan time from %T", value)
	}
	return nil
}

// OrEmpty returns a destination for text, NULL as empty.
func OrEmpty[T ~string](dest *T) sql.Scanner { return textDest[T]{dest} }

type textDest[T ~string] struct{ dest *T }

func (t textDest[T]) Scan(value any) error {
	switch v := value.(type) {
	case nil:
		*t.dest = ""
	case string:
		*t.dest = T(v)
	case []byte:
		*t.dest = T(v)
	default:
		return fmt.Errorf("scan text from %T", value)
	}
	return nil
}

// JSON returns a destination for text that holds JSON. It does not change dest if the
// text is empty.
func JSON(dest any) sql.Scanner { return jsonDest{dest} }

type jsonDest struct{ dest any }

func (j jsonDest) Scan(value any) error {
	var text string
	if err := (textDest[string]{&text}).Scan(value); err != nil || text == "" {
		return err
	}
	if raw, ok := j.dest.(*json.RawMessage); ok {
		*raw = json.RawMessage(text)
		return nil
	}
	return json.Unmarshal([]byte(text), j.dest)
}

// NameKey returns the form in which names are unique regardless of case.
func NameKey(name string) string { return strings.ToLower(name) }

// JSONText encodes a value as JSON. It cannot fail for the types used here.
func JSONText(value any) string {
	raw, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("encode %T: %v", value, err))
	}
	return string(raw)
}
