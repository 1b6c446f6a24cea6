package delta

import (
	stdjson "encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/lakewarden/lakewarden/engine/delta/action"
)

// Struct is a list of named fields. A table's schema is a Struct.
type Struct struct {
	Fields []Field
}

// Field is a column or a field of a struct.
type Field struct {
	Name     string
	Type     DataType
	Nullable bool
	// Metadata holds JSON values by key. Unknown keys are preserved, because other
	// writers store constraints and ids there.
	Metadata map[string]stdjson.RawMessage
}

// Limits of a schema, which protect against hostile logs.
const (
	maxSchemaBytes  = 4 << 20
	maxSchemaFields = 20_000
	maxTypeDepth    = 64
)

// Field returns the field with the exact name.
func (s Struct) Field(name string) (Field, bool) {
	for _, f := range s.Fields {
		if f.Name == name {
			return f, true
		}
	}
	return Field{}, false
}

// MetadataString returns a metadata value that is a JSON string.
func (f Field) MetadataString(key string) (string, bool) {
	v, ok := f.Metadata[key]
	if !ok {
		return "", false
	}
	var s string
	if json.Unmarshal(v, &s) != nil {
		return "", false
	}
	return s, true
}

// withMetadata returns a copy of the field with a metadata value added; nil removes the
// key.
func (f Field) withMetadata(key string, value stdjson.RawMessage) Field {
	metadata := make(map[string]stdjson.RawMessage, len(f.Metadata)+1)
	maps.Copy(metadata, f.Metadata)
	if value == nil {
		delete(metadata, key)
	} else {
		metadata[key] = value
	}
	f.Metadata = metadata
	return f
}

// jsonString encodes text as a JSON string.
func jsonString(text string) stdjson.RawMessage {
	return stdjson.RawMessage(action.JSONText(text))
}

// Comment returns the column's comment, or "" if it has none.
func (f Field) Comment() string {
	s, _ := f.MetadataString("comment")
	return s
}

// PhysicalName returns the name in column mapping, or the logical name if there is
// none. Files, statistics and partition values use it.
func (f Field) PhysicalName() string {
	if s, ok := f.MetadataString(keyPhysicalName); ok {
		return s
	}
	return f.Name
}

type fieldJSON struct {
	Name     string                        `json:"name"`
	Type     jsontext.Value                `json:"type"`
	Nullable *bool                         `json:"nullable"`
	Metadata map[string]stdjson.RawMessage `json:"metadata"`
}

type typeJSON struct {
	Type              string         `json:"type"`
	Fields            []fieldJSON    `json:"fields"`
	ElementType       jsontext.Value `json:"elementType"`
	ContainsNull      *bool          `json:"containsNull"`
	KeyType           jsontext.Value `json:"keyType"`
	ValueType         jsontext.Value `json:"valueType"`
	ValueContainsNull *bool          `json:"valueContainsNull"`
}

// ParseSchema parses a schemaString. It accepts unknown type names, which
// [CheckReadable] refuses. The error is [ErrInvalidSchema].
func ParseSchema(schemaString string) (Struct, error) {
	if len(schemaString) > maxSchemaBytes {
		return Struct{}, fmt.Errorf("schema of %d bytes: %w", len(schemaString), ErrInvalidSchema)
	}
	fields := 0
	t, err := parseType(jsontext.Value(schemaString), 0, &fields)
	if err != nil {
		return Struct{}, err
	}
	s, ok := t.(Struct)
	if !ok {
		return Struct{}, fmt.Errorf("schema is %s: %w", t, ErrInvalidSchema)
	}
	return s, nil
}

func parseType(v jsontext.Value, depth int, fields *int) (DataType, error) {
	if depth > maxTypeDepth {
		return nil, fmt.Errorf("types nested deeper than %d: %w", maxTypeDepth, ErrInvalidSchema)
	}
	if v.Kind() == '"' {
		var name string
		if err := json.Unmarshal(v, &name); err != nil {
			return nil, fmt.Errorf("type name: %w", ErrInvalidSchema)
		}
		return parsePrimitive(name)
	}
	var t typeJSON
	if v.Kind() != '{' {
		return nil, fmt.Errorf("type is neither a name nor an object: %w", ErrInvalidSchema)
	}
	if err := json.Unmarshal(v, &t); err != nil {
		return nil, fmt.Errorf("type: %v: %w", err, ErrInvalidSchema)
	}
	switch t.Type {
	case "struct":
		return parseFields(t.Fields, depth, fields)
	case "array":
		element, err := parseType(t.ElementType, depth+1, fields)
		if err != nil {
			return nil, err
		}
		return Array{Element: element, ContainsNull: orTrue(t.ContainsNull)}, nil
	case "map":
		key, err := parseType(t.KeyType, depth+1, fields)
		if err != nil {
			return nil, err
		}
		value, err := parseType(t.ValueType, depth+1, fields)
		if err != nil {
			return nil, err
		}
		return Map{Key: key, Value: value, ValueContainsNull: orTrue(t.ValueContainsNull)}, nil
	}
	return nil, fmt.Errorf("type %q: %w", t.Type, ErrInvalidSchema)
}

func parseFields(list []fieldJSON, depth int, fields *int) (DataType, error) {
	*fields += len(list)
	if *fields > maxSchemaFields {
		return nil, fmt.Errorf("more than %d fields: %w", maxSchemaFields, ErrInvalidSchema)
	}
	s := Struct{Fields: make([]Field, 0, len(list))}
	seen := make(map[string]bool, len(list))
	for _, f := range list {
		// Names that differ in case only are equal in SQL: a policy for one column
		// would apply to the other.
		lower := strings.ToLower(f.Name)
		if f.Name == "" || seen[lower] {
			return nil, fmt.Errorf("field name %q is empty or used twice: %w", f.Name, ErrInvalidSchema)
		}
		seen[lower] = true
		t, err := parseType(f.Type, depth+1, fields)
		if err != nil {
			return nil, fmt.Errorf("field %q: %w", f.Name, err)
		}
		s.Fields = append(s.Fields, Field{
			Name: f.Name, Type: t, Nullable: orTrue(f.Nullable), Metadata: f.Metadata,
		})
	}
	return s, nil
}

func orTrue(b *bool) bool { return b == nil || *b }

func parsePrimitive(name string) (DataType, error) {
	args, ok := strings.CutPrefix(name, "decimal")
	if !ok {
		return Primitive(name), nil
	}
	if args == "" {
		return Decimal{Precision: 10}, nil
	}
	return parseDecimal(args)
}

// parseDecimal parses "(p,s)" or "(p)".
func parseDecimal(args string) (DataType, error) {
	bad := fmt.Errorf("decimal%s: %w", args, ErrInvalidSchema)
	if !strings.HasPrefix(args, "(") || !strings.HasSuffix(args, ")") {
		return nil, bad
	}
	p, s, both := strings.Cut(args[1:len(args)-1], ",")
	precision, err := strconv.Atoi(strings.TrimSpace(p))
	if err != nil || precision < 1 || precision > 38 {
		return nil, bad
	}
	scale := 0
	if both {
		scale, err = strconv.Atoi(strings.TrimSpace(s))
		if err != nil || scale < 0 || scale > precision {
			return nil, bad
		}
	}
	return Decimal{Precision: precision, Scale: scale}, nil
}

// JSON returns the schema as a schemaString.
func (s Struct) JSON() (string, error) {
	b, err := json.Marshal(typeValue(s), json.Deterministic(true))
	if err != nil {
		return "", fmt.Errorf("encoding schema: %v: %w", err, ErrInvalidSchema)
	}
	return string(b), nil
}

type fieldOut struct {
	Name     string                        `json:"name"`
	Type     any                           `json:"type"`
	Nullable bool                          `json:"nullable"`
	Metadata map[string]stdjson.RawMessage `json:"metadata"`
}

type structOut struct {
	Type   string     `json:"type"`
	Fields []fieldOut `json:"fields"`
}

type arrayOut struct {
	Type         string `json:"type"`
	ElementType  any    `json:"elementType"`
	ContainsNull bool   `json:"containsNull"`
}

type mapOut struct {
	Type              string `json:"type"`
	KeyType           any    `json:"keyType"`
	ValueType         any    `json:"valueType"`
	ValueContainsNull bool   `json:"valueContainsNull"`
}

func typeValue(t DataType) any {
	switch t := t.(type) {
	case Struct:
		out := structOut{Type: "struct", Fields: make([]fieldOut, 0, len(t.Fields))}
		for _, f := range t.Fields {
			out.Fields = append(out.Fields, fieldOut{f.Name, typeValue(f.Type), f.Nullable, f.Metadata})
		}
		return out
	case Array:
		return arrayOut{"array", typeValue(t.Element), t.ContainsNull}
	case Map:
		return mapOut{"map", typeValue(t.Key), typeValue(t.Value), t.ValueContainsNull}
	}
	return t.String()
}
