package delta

import (
	"fmt"
	"slices"
	"strings"
)

// A path identifies a column or a nested type: the names of struct fields, and
// "element", "key" and "value" for the contents of arrays and maps.

// editType returns t with the type at path replaced by the result of edit. inside
// reports whether the path leads through an array or a map.
func editType(t DataType, path []string, inside bool, edit func(t DataType, inside bool) (DataType, error)) (DataType, error) {
	if len(path) == 0 {
		return edit(t, inside)
	}
	name, rest := path[0], path[1:]
	var err error
	switch t := t.(type) {
	case Struct:
		i := t.index(name)
		if i < 0 {
			break
		}
		fields := slices.Clone(t.Fields)
		if fields[i].Type, err = editType(fields[i].Type, rest, inside, edit); err != nil {
			return nil, err
		}
		return Struct{Fields: fields}, nil
	case Array:
		if name == "element" {
			t.Element, err = editType(t.Element, rest, true, edit)
			return t, err
		}
	case Map:
		switch name {
		case "key":
			t.Key, err = editType(t.Key, rest, true, edit)
			return t, err
		case "value":
			t.Value, err = editType(t.Value, rest, true, edit)
			return t, err
		}
	}
	return nil, noColumn(path)
}

// editFields returns s with the fields of the struct at path's parent replaced by the
// result of edit; i is the index of the path's last element.
func editFields(s Struct, path []string, edit func(fields []Field, i int, inside bool) ([]Field, error)) (Struct, error) {
	if len(path) == 0 {
		return Struct{}, noColumn(path)
	}
	last := len(path) - 1
	t, err := editType(s, path[:last], false, func(t DataType, inside bool) (DataType, error) {
		parent, ok := t.(Struct)
		if !ok {
			return nil, noColumn(path)
		}
		i := parent.index(path[last])
		if i < 0 {
			return nil, noColumn(path)
		}
		fields, err := edit(slices.Clone(parent.Fields), i, inside)
		return Struct{Fields: fields}, err
	})
	if err != nil {
		return Struct{}, err
	}
	return t.(Struct), nil //nolint:forcetypeassert // the outermost type stays a struct
}

// index returns the index of a field by its case-insensitive name, which is unique.
func (s Struct) index(name string) int {
	return slices.IndexFunc(s.Fields, func(f Field) bool { return strings.EqualFold(f.Name, name) })
}

func noColumn(path []string) error {
	return fmt.Errorf("no column %q: %w", strings.Join(path, "."), ErrInvalidSchema)
}
