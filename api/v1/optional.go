package v1

import (
	"bytes"
	"encoding/json"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
)

// Optional distinguishes a member that was omitted from one that was sent as null.
type Optional[T any] struct {
	Sent  bool
	Null  bool
	Value T
}

// UnmarshalJSON is called only for members that were sent.
func (o *Optional[T]) UnmarshalJSON(data []byte) error {
	o.Sent = true
	if bytes.Equal(bytes.TrimSpace(data), []byte("null")) {
		o.Null = true
		return nil
	}
	return json.Unmarshal(data, &o.Value)
}

// Schema returns the schema of T, or null.
func (o Optional[T]) Schema(r huma.Registry) *huma.Schema {
	schema := *huma.SchemaFromType(r, reflect.TypeFor[T]())
	schema.Nullable = schema.Ref == ""
	return &schema
}

// OrNull returns raw, or JSON null if raw is empty.
func OrNull(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("null")
	}
	return raw
}

// Nullable is encoded as a T, or null if Value is nil. The framework describes a plain
// pointer to a struct as never null.
type Nullable[T any] struct{ Value *T }

// MarshalJSON writes the value or null.
func (n Nullable[T]) MarshalJSON() ([]byte, error) { return json.Marshal(n.Value) }

// UnmarshalJSON reads the value or null.
func (n *Nullable[T]) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, &n.Value) }

// Schema returns the schema of T, or null. The framework does not check the type null, but
// it checks enumerations.
func (Nullable[T]) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{OneOf: []*huma.Schema{r.Schema(reflect.TypeFor[T](), true, ""), {Type: "null", Enum: []any{nil}}}}
}

// Text returns the text of a member, or "" for one that was omitted.
func Text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
