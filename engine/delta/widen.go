package delta

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// CanWiden reports whether every value of one type is a value of the other, and readers
// that support type widening cast old files (protocol, "Type Widening").
func CanWiden(from, to DataType) bool {
	d, toDecimal := to.(Decimal)
	if old, ok := from.(Decimal); ok {
		return toDecimal && d != old && d.Scale >= old.Scale && d.Precision-old.Precision >= d.Scale-old.Scale
	}
	if toDecimal {
		digits := map[DataType]int{Byte: 10, Short: 10, Integer: 10, Long: 20}
		p, ok := from.(Primitive)
		return ok && digits[p] > 0 && d.Precision-d.Scale >= digits[p]
	}
	wider := map[DataType][]DataType{
		Byte: {Short, Integer, Long, Double}, Short: {Integer, Long, Double},
		Integer: {Long, Double}, Float: {Double}, Date: {TimestampNTZ},
	}
	p, ok := from.(Primitive)
	return ok && slices.ContainsFunc(wider[p], func(t DataType) bool { return EqualTypes(t, to) })
}

// typeChange is an entry in the field metadata of type changes.
type typeChange struct {
	FromType string `json:"fromType"`
	ToType   string `json:"toType"`
	// FieldPath is the path from the field to the element, key or value whose type
	// changed.
	FieldPath string `json:"fieldPath,omitempty"`
}

// WidenColumn changes the type of a column, nested field, element, key or value to a
// wider one without rewriting files. It enables type widening unless the property is
// set to false. Some readers do not support such tables. Errors: [ErrInvalidSchema];
// [FeatureError] if the property is false.
func (a *Alteration) WidenColumn(path []string, to DataType) error {
	path, err := a.resolveType(path)
	if err != nil {
		return err
	}
	if p := a.base.state.protocol; supports(p, featTypeWideningOld) && !supports(p, featTypeWidening) {
		return refuseWrite(featTypeWideningOld, "the preview records type changes in another form")
	}
	if on, set := a.config[propTypeWidening]; set && !strings.EqualFold(on, "true") {
		return refuseWrite(featTypeWidening, propTypeWidening+" is false")
	}
	field, inner := a.splitPath(path)
	if err := a.checkUnused(field); err != nil {
		return err
	}
	schema, err := editFields(a.schema, field, func(fields []Field, i int, _ bool) ([]Field, error) {
		var from DataType
		t, err := editType(fields[i].Type, inner, false, func(t DataType, _ bool) (DataType, error) {
			from = t
			if !CanWiden(t, to) || len(field) == 1 && slices.Contains(a.partitions, field[0]) && EqualTypes(to, TimestampNTZ) {
				return nil, fmt.Errorf("column %q from %s to %s: %w", strings.Join(path, "."), t, to, ErrInvalidSchema)
			}
			return to, nil
		})
		if err != nil {
			return nil, err
		}
		fields[i].Type = t
		fields[i], err = fields[i].withTypeChange(typeChange{from.String(), to.String(), strings.Join(inner, ".")})
		return fields, err
	})
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(a.partitions, func(p string) bool { return p == path[0] }); i >= 0 {
		if f, _ := schema.Field(path[0]); !partitionsBy(f.Type) {
			return fmt.Errorf("partition column %q of type %s: %w", path[0], f.Type, ErrInvalidSchema)
		}
	}
	a.setSchema(schema)
	a.config[propTypeWidening] = "true"
	return nil
}

// withTypeChange adds an entry to the field's type changes.
func (f Field) withTypeChange(c typeChange) (Field, error) {
	var changes []jsontext.Value
	if old, ok := f.Metadata[keyTypeChanges]; ok {
		if err := json.Unmarshal(old, &changes); err != nil {
			return f, fmt.Errorf("type changes of column %q: %w", f.Name, ErrInvalidSchema)
		}
	}
	entry, err := json.Marshal(c)
	if err != nil {
		return f, fmt.Errorf("type change of column %q: %w", f.Name, ErrInvalidSchema)
	}
	list, err := json.Marshal(append(changes, entry))
	if err != nil {
		return f, fmt.Errorf("type change of column %q: %w", f.Name, ErrInvalidSchema)
	}
	return f.withMetadata(keyTypeChanges, rawJSON(list)), nil
}

// foreignChange returns the name of a field with a type change that this package cannot
// apply to old files, or "" if there is none.
func foreignChange(schema Struct) string {
	found := ""
	walkFields(schema, func(f Field) {
		raw, ok := f.Metadata[keyTypeChanges]
		if !ok || found != "" {
			return
		}
		var changes []typeChange
		if json.Unmarshal(raw, &changes) != nil {
			found = f.Name
		}
		for _, c := range changes {
			from, err1 := parsePrimitive(c.FromType)
			to, err2 := parsePrimitive(c.ToType)
			if err1 != nil || err2 != nil || !CanWiden(from, to) {
				found = f.Name
			}
		}
	})
	return found
}

// resolveType returns the path of a type with the names as the schema spells them.
func (a *Alteration) resolveType(path []string) ([]string, error) {
	if len(path) == 0 {
		return nil, noColumn(path)
	}
	if _, err := editType(a.schema, path, false, func(t DataType, _ bool) (DataType, error) { return t, nil }); err != nil {
		return nil, err
	}
	return a.spelled(path), nil
}

// splitPath splits a path after its last struct field.
func (a *Alteration) splitPath(path []string) (field, inner []string) {
	n := len(path)
	for ; n > 1; n-- {
		inStruct := false
		_, _ = editType(a.schema, path[:n-1], false, func(t DataType, _ bool) (DataType, error) {
			_, inStruct = t.(Struct)
			return t, nil
		})
		if inStruct {
			break
		}
	}
	return path[:n], path[n:]
}
