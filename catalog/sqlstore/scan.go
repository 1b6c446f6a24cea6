package sqlstore

import (
	"encoding/json"
	"fmt"
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

// timeAt scans microseconds, NULL as the zero time.
type timeAt struct{ dest *time.Time }

func (t timeAt) Scan(value any) error {
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

// textAt scans text, NULL as empty.
type textAt[T ~string] struct{ dest *T }

func (t textAt[T]) Scan(value any) error {
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

func orEmpty[T ~string](dest *T) textAt[T] { return textAt[T]{dest} }

// jsonAt scans text that holds JSON. It does not change dest if the text is empty.
type jsonAt struct{ dest any }

func (j jsonAt) Scan(value any) error {
	var text string
	if err := (textAt[string]{&text}).Scan(value); err != nil || text == "" {
		return err
	}
	if raw, ok := j.dest.(*json.RawMessage); ok {
		*raw = json.RawMessage(text)
		return nil
	}
	return json.Unmarshal([]byte(text), j.dest)
}

// jsonText encodes a value as JSON. It cannot fail for the types used here.
func jsonText(value any) string {
	raw, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("encode %T: %v", value, err))
	}
	return string(raw)
}
