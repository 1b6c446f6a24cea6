package v1

import (
	"bytes"
	"encoding/json"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
)

// optional tells a member that was left out from one that was sent as null.
type optional[T any] struct {
	Sent  bool
	Null  bool
	Value T
}

// UnmarshalJSON is called only for members that were sent.
func (o *optional[T]) UnmarshalJSON(data []byte) error {
	o.Sent = true
	if bytes.Equal(bytes.TrimSpace(data), []byte("null")) {
		o.Null = true
		return nil
	}
	return json.Unmarshal(data, &o.Value)
}

// Schema is that of T, or null.
func (o optional[T]) Schema(r huma.Registry) *huma.Schema {
	schema := *huma.SchemaFromType(r, reflect.TypeFor[T]())
	schema.Nullable = schema.Ref == ""
	return &schema
}

// orNull returns raw, or JSON null if raw is empty.
func orNull(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("null")
	}
	return raw
}

// nullable is a T, or null on the wire when there is none. A plain pointer to a
// struct is described as one that is never null.
type nullable[T any] struct{ value *T }

// MarshalJSON writes the value or null.
func (n nullable[T]) MarshalJSON() ([]byte, error) { return json.Marshal(n.value) }

// UnmarshalJSON reads the value or null.
func (n *nullable[T]) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, &n.value) }

// Schema is that of T, or null.
func (nullable[T]) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{OneOf: []*huma.Schema{r.Schema(reflect.TypeFor[T](), true, ""), {Type: "null"}}}
}
