package sqlstore

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// micros returns the stored form of a time.
func micros(t time.Time) int64 { return t.UnixMicro() }

// microsOrNull stores the zero time as NULL.
func microsOrNull(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}

// textOrNull stores the empty text as NULL.
func textOrNull[T ~string](text T) any {
	if text == "" {
		return nil
	}
	return string(text)
}

// timeAt returns a destination for microseconds, NULL as the zero time.
func timeAt(dest *time.Time) sql.Scanner { return timeDest{dest} }

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

// orEmpty returns a destination for text, NULL as empty.
func orEmpty[T ~string](dest *T) sql.Scanner { return textDest[T]{dest} }

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

// jsonAt returns a destination for text that holds JSON. It does not change dest if the
// text is empty.
func jsonAt(dest any) sql.Scanner { return jsonDest{dest} }

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

// nameKey returns the form in which names of workspaces are unique.
func nameKey(name string) string { return strings.ToLower(name) }

// jsonText encodes a value as JSON. It cannot fail for the types used here.
func jsonText(value any) string {
	raw, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("encode %T: %v", value, err))
	}
	return string(raw)
}
