package delta

import (
	stdjson "encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

type rawJSON = stdjson.RawMessage

// changeFeedColumns are the columns that the change data feed adds to rows.
var changeFeedColumns = []string{"_change_type", "_commit_version", "_commit_timestamp"}

func ofChangeFeed(name string) bool {
	return slices.ContainsFunc(changeFeedColumns, func(c string) bool { return strings.EqualFold(c, name) })
}

// AddColumn adds a column or, if parent is not empty, a field to the struct at that
// path: {"st"} is the column st, {"list", "element"} the structs in the array list.
// Existing files read as NULL in the new column, so it must be nullable. Errors:
// [ErrInvalidSchema]; [FeatureError] if the field's metadata has a default, see
// [Alteration.SetDefault].
func (a *Alteration) AddColumn(parent []string, f Field) error {
	if !f.Nullable {
		return fmt.Errorf("new column %q is NOT NULL: %w", f.Name, ErrInvalidSchema)
	}
	if err := a.checkNewField(f); err != nil {
		return err
	}
	numbers := newColumnNumbers(a.schema, a.config, columnName(a.base.opts.NewID))
	if mapped(a.config) {
		f = numbers.assignField(f)
	}
	t, err := editType(a.schema, parent, false, func(t DataType, inside bool) (DataType, error) {
		s, ok := t.(Struct)
		switch {
		case !ok:
			return nil, fmt.Errorf("column %q has no members: %w", strings.Join(parent, "."), ErrInvalidSchema)
		case s.index(f.Name) >= 0:
			return nil, fmt.Errorf("column %q exists: %w", f.Name, ErrInvalidSchema)
		}
		if err := validatorFor(a.config).columns([]Field{f}, inside, len(parent)); err != nil {
			return nil, err
		}
		return Struct{Fields: append(slices.Clone(s.Fields), f)}, nil
	})
	if err != nil {
		return err
	}
	a.setSchema(t.(Struct)) //nolint:forcetypeassert // the outermost type stays a struct
	if mapped(a.config) {
		a.config[propMaxColumnID] = strconv.Itoa(numbers.last)
	}
	return nil
}

// checkNewField refuses field metadata, at any depth, that imposes a duty on writers.
func (a *Alteration) checkNewField(f Field) error {
	var found error
	walkFields(Struct{Fields: []Field{f}}, func(f Field) {
		for key := range f.Metadata {
			switch {
			case found != nil || key == "comment":
			case key == keyDefault || key == "EXISTS_DEFAULT":
				found = refuseWrite(featDefaults, "column "+strconv.Quote(f.Name))
			case isReserved(key):
				found = fmt.Errorf("column %q with metadata %q: %w", f.Name, key, ErrInvalidSchema)
			}
		}
	})
	if found != nil {
		return found
	}
	return a.checkNewName(f.Name)
}

func (a *Alteration) checkNewName(name string) error {
	if strings.EqualFold(a.config[propCDF], "true") && ofChangeFeed(name) {
		return fmt.Errorf("column name %q is reserved for the change data feed: %w", name, ErrInvalidSchema)
	}
	if rowColumnsOf(a.config).has(name) {
		return fmt.Errorf("column name %q is used by a hidden column: %w", name, ErrInvalidSchema)
	}
	return nil
}

// RenameColumn renames a column or nested field. It enables column mapping if
// necessary, because files keep the old name. Partition columns, keys and properties
// follow the rename. A column that a constraint or an expression of another column
// refers to cannot be renamed. The error is [ErrInvalidSchema], or a [SchemaError] for
// an invalid name.
func (a *Alteration) RenameColumn(path []string, name string) error {
	path, err := a.resolve(path)
	if err != nil {
		return err
	}
	if err := a.checkUnused(path); err != nil {
		return err
	}
	if err := a.checkNewName(name); err != nil {
		return err
	}
	if reason := unusableName(name); reason != "" {
		return &SchemaError{ColumnName, 0, reason}
	}
	renamed := func(s Struct) (Struct, error) {
		return editFields(s, path, func(fields []Field, i int, _ bool) ([]Field, error) {
			if at := (Struct{Fields: fields}).index(name); at >= 0 && at != i {
				return nil, fmt.Errorf("column %q exists: %w", name, ErrInvalidSchema)
			}
			fields[i].Name = name
			return fields, nil
		})
	}
	if _, err := renamed(a.schema); err != nil {
		return err
	}
	a.mapColumns()
	schema, err := renamed(a.schema)
	if err != nil {
		return err
	}
	a.setSchema(schema)
	a.renameEverywhere(path, name)
	return nil
}

// DropColumn removes a column or nested field from the schema. It enables column
// mapping if necessary, because files keep the column. Partition, primary key and
// clustering columns, and columns that an expression refers to, cannot be dropped. The
// error is [ErrInvalidSchema].
func (a *Alteration) DropColumn(path []string) error {
	path, err := a.resolve(path)
	if err != nil {
		return err
	}
	if err := a.checkDroppable(path); err != nil {
		return err
	}
	dropped := func(s Struct) (Struct, error) {
		return editFields(s, path, func(fields []Field, i int, _ bool) ([]Field, error) {
			if len(fields) == 1 || len(path) == 1 && len(fields) == len(a.partitions)+1 {
				return nil, fmt.Errorf("column %q is the last one: %w", strings.Join(path, "."), ErrInvalidSchema)
			}
			return slices.Delete(fields, i, i+1), nil
		})
	}
	if _, err := dropped(a.schema); err != nil {
		return err
	}
	a.mapColumns()
	schema, err := dropped(a.schema)
	if err != nil {
		return err
	}
	a.setSchema(schema)
	a.config = withStatsColumns(a.config, path, "")
	return nil
}

// CommentColumn sets the comment of a column or nested field. An empty comment removes
// it. The error is [ErrInvalidSchema].
func (a *Alteration) CommentColumn(path []string, comment string) error {
	return a.editField(path, func(f Field, _ bool) (Field, error) {
		if comment == "" {
			return f.withMetadata("comment", nil), nil
		}
		return f.withMetadata("comment", jsonString(comment)), nil
	})
}

// SetNotNull forbids NULL in a column or a field of a struct. The caller must have
// checked that the existing rows satisfy it. The error is [ErrInvalidSchema].
func (a *Alteration) SetNotNull(path []string) error {
	return a.editField(path, func(f Field, inside bool) (Field, error) {
		if inside {
			return f, fmt.Errorf("NOT NULL inside an array or map: %w", ErrInvalidSchema)
		}
		f.Nullable = false
		return f, nil
	})
}

// DropNotNull allows NULL again. The error is [ErrInvalidSchema].
func (a *Alteration) DropNotNull(path []string) error {
	return a.editField(path, func(f Field, _ bool) (Field, error) {
		f.Nullable = true
		return f, nil
	})
}

func (a *Alteration) editField(path []string, edit func(f Field, inside bool) (Field, error)) error {
	schema, err := editFields(a.schema, path, func(fields []Field, i int, inside bool) (_ []Field, err error) {
		fields[i], err = edit(fields[i], inside)
		return fields, err
	})
	if err != nil {
		return err
	}
	a.setSchema(schema)
	return nil
}

// resolve returns the path of a field with the names as the schema spells them.
func (a *Alteration) resolve(path []string) ([]string, error) {
	path = a.spelled(path)
	_, err := editFields(a.schema, path, func(fields []Field, _ int, _ bool) ([]Field, error) { return fields, nil })
	return path, err
}

// spelled replaces the elements of a path by the names as the schema spells them.
func (a *Alteration) spelled(path []string) []string {
	out := slices.Clone(path)
	for n := range path {
		_, _ = editType(a.schema, path[:n], false, func(t DataType, _ bool) (DataType, error) {
			if s, ok := t.(Struct); ok {
				if i := s.index(path[n]); i >= 0 {
					out[n] = s.Fields[i].Name
				}
			}
			return t, nil
		})
	}
	return out
}
