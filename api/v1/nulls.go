package v1

import (
	"slices"

	"github.com/danielgtaylor/huma/v2"
)

// AllowNulls adds null to the types of optional members of request bodies, because the
// framework treats a null member like an absent one.
func AllowNulls(spec *huma.OpenAPI) {
	seen := map[*huma.Schema]bool{}
	for _, item := range spec.Paths {
		for _, op := range []*huma.Operation{item.Get, item.Post, item.Put, item.Patch, item.Delete} {
			if op == nil || op.RequestBody == nil {
				continue
			}
			for _, media := range op.RequestBody.Content {
				allowNulls(spec.Components.Schemas, media.Schema, seen)
			}
		}
	}
}

func allowNulls(registry huma.Registry, s *huma.Schema, seen map[*huma.Schema]bool) {
	if s == nil || seen[s] {
		return
	}
	seen[s] = true
	if s.Ref != "" {
		allowNulls(registry, registry.SchemaFromRef(s.Ref), seen)
		return
	}
	allowNulls(registry, s.Items, seen)
	for name, property := range s.Properties {
		allowNulls(registry, property, seen)
		if slices.Contains(s.Required, name) || property.Ref != "" || property.Type == "" {
			continue
		}
		property.Nullable = true
		if len(property.Enum) > 0 && !slices.Contains(property.Enum, any(nil)) {
			property.Enum = append(slices.Clip(property.Enum), nil)
		}
	}
}
