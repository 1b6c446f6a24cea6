package v1

import "time"

// timestamp renders RFC 3339 in UTC; nil for a time that is not known.
func timestamp(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	text := t.UTC().Format(time.RFC3339Nano)
	return &text
}

// pointer returns nil for the zero value: the member is null on the wire.
func pointer[T ~string](v T) *string {
	if v == "" {
		return nil
	}
	text := string(v)
	return &text
}
