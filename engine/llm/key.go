package llm

import (
	"fmt"
	"io"
	"log/slog"
)

// redacted is what a Key shows of itself.
const redacted = "redacted"

// Key is the key of an account at a vendor. It prints, logs and encodes as "redacted", also
// as a field of other values.
type Key struct{ value *string } // A pointer, because fmt prints unexported strings of a field.

// NewKey returns the key with a value.
func NewKey(value string) Key { return Key{&value} }

// String returns a constant.
func (Key) String() string { return redacted }

// GoString implements [fmt.GoStringer].
func (Key) GoString() string { return redacted }

// Format implements [fmt.Formatter] for all verbs.
func (Key) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, redacted) }

// LogValue implements [slog.LogValuer].
func (Key) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalJSON implements [encoding/json.Marshaler].
func (Key) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }

// MarshalText implements [encoding.TextMarshaler].
func (Key) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// reveal returns the value, or "" for the zero Key.
func (k Key) reveal() string {
	if k.value == nil {
		return ""
	}
	return *k.value
}

// sendable reports whether the key is a value of a header: printable ASCII without spaces.
func (k Key) sendable() bool {
	for _, c := range []byte(k.reveal()) {
		if c <= ' ' || c > '~' {
			return false
		}
	}
	return k.reveal() != ""
}
