package delta

import (
	"fmt"
	"strings"
)

// Default is the text of the column's default, in Spark's SQL, as the protocol's
// section "Default Columns" has it. A default that is no text is
// [ErrInvalidSchema].
func (f Field) Default() (text string, ok bool, err error) {
	if _, ok = f.Metadata[keyDefault]; !ok {
		return "", false, nil
	}
	if text, ok = f.MetadataString(keyDefault); !ok {
		return "", true, fmt.Errorf("default of column %q: %w", f.Name, ErrInvalidSchema)
	}
	return text, true, nil
}

// WithDefault returns the field with a default in Spark's SQL. The caller has made
// sure that it is one of the field's type.
func (f Field) WithDefault(text string) Field {
	return f.withMetadata(keyDefault, jsonString(text))
}

// DefaultBelow is the path of a member below t that has a default, or empty. Only
// columns have defaults that writers fill in.
func DefaultBelow(t DataType) string {
	found := ""
	walkFields(t, func(f Field) {
		if _, ok := f.Metadata[keyDefault]; ok && found == "" {
			found = f.Name
		}
	})
	return found
}

// SetDefault gives a column the default that new rows have where they do not name
// it: a constant of the column's type in Spark's SQL, which the caller has checked.
// Rows of this and older versions keep what they have. The error is
// [ErrInvalidSchema].
func (a *Alteration) SetDefault(column, text string) error {
	return a.editColumn(column, func(f Field) Field { return f.WithDefault(text) })
}

// DropDefault takes the default of a column away: NULL takes its place. The error
// is [ErrInvalidSchema].
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
