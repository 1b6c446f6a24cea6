package analysis

import (
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// allowNulls adds null to the types of those members of a result that can be null although
// the framework describes them as objects: pointers to structs, and maps.
func allowNulls(r huma.Registry, t reflect.Type, seen map[reflect.Type]bool) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || seen[t] {
		return
	}
	seen[t] = true
	schema := r.Schema(t, true, t.Name())
	if schema.Ref != "" {
		schema = r.SchemaFromRef(schema.Ref)
	}
	for field := range t.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		property := schema.Properties[name]
		if property == nil {
			continue
		}
		allowNulls(r, field.Type, seen)
		mayBeNull(property, field.Type)
	}
}

// mayBeNull changes the schema of a member of a type that can be nil.
func mayBeNull(s *huma.Schema, t reflect.Type) {
	switch {
	case t.Kind() == reflect.Pointer && s.Ref != "":
		s.OneOf = []*huma.Schema{{Ref: s.Ref}, {Type: "null", Enum: []any{nil}}}
		s.Ref = ""
	case t.Kind() == reflect.Map:
		s.Nullable = true
		if values, ok := s.AdditionalProperties.(*huma.Schema); ok && t.Elem().Kind() == reflect.Pointer {
			values.Nullable = true
		}
	case t.Kind() == reflect.Slice && s.Items != nil:
		mayBeNull(s.Items, t.Elem())
	}
}
