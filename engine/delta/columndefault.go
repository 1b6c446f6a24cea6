package delta

import (
	"fmt"
	"strings"
)

// Default returns the column's default in Spark's SQL (protocol, "Default Columns").
// The error is [ErrInvalidSchema] if the default is not a string.
func (f Field) Default() (text string, ok bool, err error) {
	if _, ok = f.Metadata[keyDefault]; !ok {
		return "", false, nil
	}
	if text, ok = f.MetadataString(keyDefault); !ok {
		return "", true, fmt.Errorf("default of column %q: %w", f.Name, ErrInvalidSchema)
	}
	return text, true, nil
}

// WithDefault returns the field with a default in Spark's SQL. The caller must have
// checked that it is a constant of the field's type.
func (f Field) WithDefault(text string) Field {
	return f.withMetadata(keyDefault, jsonString(text))
}

// DefaultBelow returns the path of a nested field below t that has a default, or "".
// Writers fill in defaults of columns only.
func DefaultBelow(t DataType) string {
	found := ""
	walkFields(t, func(f Field) {
		if _, ok := f.Metadata[keyDefault]; ok && found == "" {
			found = f.Name
		}
	})
	return found
}

// SetDefault sets the default of a column for new rows that do not name it: a constant
// of the column's type in Spark's SQL, which the caller must have checked. Existing
// rows do not change. The error is [ErrInvalidSchema].
func (a *Alteration) SetDefault(column, text string) error {
	return a.editColumn(column, func(f Field) Field { return f.WithDefault(text) })
}

// DropDefault removes the default of a column, so that omitted values are NULL. The
// error is [ErrInvalidSchema].
func (a *Alteration) DropDefault(column string) error {
	return a.editColumn(column, func(f Field) Field { return f.withMetadata(keyDefault, nil) })
}

func (a *Alteration) editColumn(column string, edit func(Field) Field) error {
	return a.editField([]string{column}, func(f Field, inside bool) (Field, error) {
		if inside || !strings.EqualFold(f.Name, column) {
			return f, fmt.Errorf("column %q: %w", column, ErrInvalidSchema)
		}
		return edit(f), nil
	})
}
