package v1

import (
	"errors"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

// Instant is a time in a request body. It refuses overlong texts before parsing,
// because errors of package time repeat the text several times.
type Instant struct{ time.Time }

// UnmarshalJSON parses a time in RFC 3339.
func (i *Instant) UnmarshalJSON(data []byte) error {
	if len(data) > 64 {
		return errors.New("not a time")
	}
	return i.Time.UnmarshalJSON(data)
}

// Schema returns the schema of a time.
func (Instant) Schema(huma.Registry) *huma.Schema {
	s := &huma.Schema{Type: huma.TypeString, Format: "date-time"}
	s.PrecomputeMessages()
	return s
}

// Pointer returns the time, or nil if the member was absent.
func (i *Instant) Pointer() *time.Time {
	if i == nil {
		return nil
	}
	return &i.Time
}

// Timestamp returns a time as RFC 3339 in UTC, or nil for the zero time, which means
// unknown.
func Timestamp(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	text := t.UTC().Format(time.RFC3339Nano)
	return &text
}

// Pointer returns a pointer to v, or nil for the zero value, which is null on the wire.
func Pointer[T ~string](v T) *string {
	if v == "" {
		return nil
	}
	text := string(v)
	return &text
}
