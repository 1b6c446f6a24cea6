package deltasql

import (
	"fmt"
	"strings"

	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// stored maps primitive types to the types of their values in data files.
var stored = map[delta.Primitive]sqltype.Scalar{
	delta.String:       sqltype.Varchar,
	delta.Long:         sqltype.BigInt,
	delta.Integer:      sqltype.Integer,
	delta.Short:        sqltype.SmallInt,
	delta.Byte:         sqltype.TinyInt,
	delta.Float:        sqltype.Float,
	delta.Double:       sqltype.Double,
	delta.Boolean:      sqltype.Boolean,
	delta.Binary:       sqltype.Blob,
	delta.Date:         sqltype.Date,
	delta.Timestamp:    sqltype.TimestampTZ,
	delta.TimestampNTZ: sqltype.Timestamp,
	delta.Variant:      sqltype.Variant,
}

var primitives = func() map[sqltype.Scalar]delta.Primitive {
	of := make(map[sqltype.Scalar]delta.Primitive, len(stored))
	for p, t := range stored {
		of[t] = p
	}
	return of
}()

// Type returns the type that a column of type t has in statements. A variant is
// JSON text there, and a void column an INTEGER that is always NULL. For an unknown
// type it is [sqltype.Null].
func Type(t delta.DataType) sqltype.Type { return convert(t, sqltype.Varchar) }

// FileType is [Type] for the type that DuckDB reads from data files. It differs for
// variants only.
func FileType(t delta.DataType) sqltype.Type { return convert(t, sqltype.Variant) }

func convert(t delta.DataType, variant sqltype.Type) sqltype.Type {
	switch t := t.(type) {
	case delta.Primitive:
		if t == delta.Variant {
			return variant
		}
		if t == delta.Void {
			return sqltype.Integer
		}
		if s, ok := stored[t]; ok {
			return s
		}
	case delta.Decimal:
		return sqltype.Decimal{Precision: t.Precision, Scale: t.Scale}
	case delta.Array:
		return sqltype.List{Element: convert(t.Element, variant)}
	case delta.Map:
		return sqltype.Map{Key: convert(t.Key, variant), Value: convert(t.Value, variant)}
	case delta.Struct:
		s := &sqltype.Struct{Fields: make([]sqltype.Field, len(t.Fields))}
		for i, f := range t.Fields {
			s.Fields[i] = sqltype.Field{Name: f.Name, Type: convert(f.Type, variant)}
		}
		return s
	}
	return sqltype.Null
}

// DataType returns the type of a table's column that holds values of type t.
// Elements and members are nullable, except for members that are marked NOT NULL.
// The error wraps [delta.ErrInvalidSchema].
func DataType(t sqltype.Type) (delta.DataType, error) {
	switch t := t.(type) {
	case sqltype.Scalar:
		if p, ok := primitives[t]; ok {
			return p, nil
		}
	case sqltype.Decimal:
		return delta.Decimal{Precision: t.Precision, Scale: t.Scale}, nil
	case sqltype.List:
		element, err := DataType(t.Element)
		return delta.Array{Element: element, ContainsNull: true}, err
	case sqltype.Map:
		key, err := DataType(t.Key)
		if err != nil {
			return nil, err
		}
		value, err := DataType(t.Value)
		return delta.Map{Key: key, Value: value, ValueContainsNull: true}, err
	case *sqltype.Struct:
		return dataTypeOfStruct(t)
	}
	return nil, fmt.Errorf("unknown type %.50q: %w", t, delta.ErrInvalidSchema)
}

func dataTypeOfStruct(t *sqltype.Struct) (delta.DataType, error) {
	var s delta.Struct
	seen := make(map[string]bool)
	for _, f := range t.Fields {
		lower := strings.ToLower(f.Name)
		if f.Name == "" || seen[lower] {
			return nil, fmt.Errorf("member %q without a name of its own: %w", f.Name, delta.ErrInvalidSchema)
		}
		seen[lower] = true
		member, err := DataType(f.Type)
		if err != nil {
			return nil, err
		}
		s.Fields = append(s.Fields, delta.Field{Name: f.Name, Type: member, Nullable: !f.NotNull})
	}
	return s, nil
}

// ParseType reads the type of a table's column as [sqltype.Parse] does. The error
// wraps [delta.ErrInvalidSchema].
func ParseType(text string) (delta.DataType, error) {
	const most = 64 << 10
	if len(text) > most {
		return nil, fmt.Errorf("type of %d bytes: %w", len(text), delta.ErrInvalidSchema)
	}
	parsed, err := sqltype.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", err, delta.ErrInvalidSchema)
	}
	t, err := DataType(parsed)
	if err != nil {
		return nil, fmt.Errorf("type %.200q: %w", text, err)
	}
	return t, nil
}
