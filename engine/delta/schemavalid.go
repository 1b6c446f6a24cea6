package delta

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Validate checks the properties, schema and partitioning of a new table. It does not
// access the folder. Errors: [PropertyError], [SchemaError].
func (c CreateOptions) Validate() error {
	if err := checkProperties(c.Schema, c.PartitionColumns, c.Properties); err != nil {
		return err
	}
	if len(c.Schema.Fields) == 0 {
		return &SchemaError{ColumnName, -1, "there are no columns"}
	}
	if err := validatorFor(c.Properties).columns(c.Schema.Fields, false, 0); err != nil {
		return err
	}
	return validatePartitioning(c.Schema, c.PartitionColumns)
}

// partitionable lists the types whose values every reader parses back from text.
var partitionable = []DataType{
	String, Long, Integer, Short, Byte, Boolean, Date, Timestamp, TimestampNTZ,
}

func validatePartitioning(s Struct, partitionColumns []string) error {
	for i, name := range partitionColumns {
		f, ok := s.Field(name)
		switch {
		case !ok:
			return &SchemaError{PartitionColumn, i, "is not a column of the table"}
		case slices.Contains(partitionColumns[:i], name):
			return &SchemaError{PartitionColumn, i, "is listed twice"}
		case !partitionsBy(f.Type):
			return &SchemaError{PartitionColumn, i, fmt.Sprintf("is of type %s, which is not supported for partitioning", f.Type)}
		}
	}
	if len(partitionColumns) == len(s.Fields) {
		return &SchemaError{PartitionColumn, -1, "must not include every column"}
	}
	return nil
}

func partitionsBy(t DataType) bool {
	_, isDecimal := t.(Decimal)
	return isDecimal || isOneOf(partitionable, t)
}

func isOneOf(types []DataType, t DataType) bool {
	for _, u := range types {
		if EqualTypes(t, u) {
			return true
		}
	}
	return false
}

// forbiddenInNames are characters that common Parquet writers refuse. They are allowed
// with column mapping, because files then have physical names.
const forbiddenInNames = " ,;{}()\n\t="

// maxNameBytes bounds new names of columns and nested fields. SQL statements refuse
// longer names.
const maxNameBytes = 255

// maxNewTypeDepth bounds the types of new columns: the time that DuckDB takes to read
// a Parquet file doubles with each level of lists, to seconds at 22.
const maxNewTypeDepth = 16

// unusableName returns why a new column or nested field cannot have the name, or "" if
// it can. It refuses names that are displayed misleadingly and names that no statement
// can refer to.
func unusableName(name string) string {
	switch {
	case name == "":
		return "must not be empty"
	case len(name) > maxNameBytes:
		return fmt.Sprintf("must not be longer than %d bytes", maxNameBytes)
	case !utf8.ValidString(name):
		return "must be UTF-8"
	case strings.TrimSpace(name) != name:
		return "must not begin or end with white space"
	case strings.ContainsFunc(name, isInvisible):
		return "must not contain control characters, line separators or text direction marks"
	case name == "." || name == "..":
		return "must not be . or .., which clients remove from the path of a URL"
	}
	return ""
}

func isInvisible(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
}

// validator checks new columns.
type validator struct {
	forbidden string
	// feed reserves the names of the change data feed's columns.
	feed bool
}

// validatorFor allows all characters in names if column mapping is enabled.
func validatorFor(properties map[string]string) validator {
	v := validator{forbidden: forbiddenInNames, feed: strings.EqualFold(properties[propCDF], "true")}
	if mapped(properties) {
		v.forbidden = ""
	}
	return v
}

// columns checks columns, or nested fields at some depth. The error is a [SchemaError].
func (v validator) columns(fields []Field, inCollection bool, depth int) error {
	seen := make(map[string]bool, len(fields))
	for i, f := range fields {
		if reason := v.name(f.Name, seen); reason != "" {
			return &SchemaError{ColumnName, i, reason}
		}
		if v.feed && depth == 0 && ofChangeFeed(f.Name) {
			return &SchemaError{ColumnName, i, "is reserved for the change data feed"}
		}
		reason := v.invalidType(f.Type, inCollection, depth+1)
		if inCollection && !f.Nullable {
			reason = "must be nullable inside an array or a map"
		}
		if reason != "" {
			return &SchemaError{ColumnType, i, reason}
		}
	}
	return nil
}

// name returns why a field cannot have the name in addition to those seen, in lower
// case, or "" if it can.
func (v validator) name(name string, seen map[string]bool) string {
	lower := strings.ToLower(name)
	reason := unusableName(name)
	switch {
	case strings.ContainsAny(name, v.forbidden):
		return "must not hold spaces, tabs, line ends or any of ,;{}()= unless delta.columnMapping.mode is name"
	case reason != "":
		return reason
	case seen[lower]:
		return "is used twice, regardless of case"
	}
	seen[lower] = true
	return ""
}

// invalidType returns why a column cannot have the type, or "" if it can.
func (v validator) invalidType(t DataType, inCollection bool, depth int) string {
	if depth > maxNewTypeDepth {
		return fmt.Sprintf("is nested deeper than %d", maxNewTypeDepth)
	}
	switch t := t.(type) {
	case Struct:
		return v.invalidStruct(t, inCollection, depth)
	case Array:
		return v.invalidType(t.Element, true, depth+1)
	case Map:
		if reason := v.invalidType(t.Key, true, depth+1); reason != "" {
			return reason
		}
		return v.invalidType(t.Value, true, depth+1)
	case Decimal:
		if t.Precision < 1 || t.Precision > 38 || t.Scale < 0 || t.Scale > t.Precision {
			return "has a decimal with invalid precision or scale"
		}
	case Primitive:
		if !t.Known() || t == Void || t == Variant {
			return fmt.Sprintf("cannot be %s in a new table", t)
		}
	default:
		return "is missing"
	}
	return ""
}

func (v validator) invalidStruct(s Struct, inCollection bool, depth int) string {
	if len(s.Fields) == 0 {
		return "has a struct without members"
	}
	seen := make(map[string]bool, len(s.Fields))
	for _, f := range s.Fields {
		reason := v.name(f.Name, seen)
		switch {
		case reason != "":
			return fmt.Sprintf("has a member whose name %s", reason)
		case inCollection && !f.Nullable:
			return fmt.Sprintf("has the member %.40q, which must be nullable inside an array or a map", f.Name)
		}
		if reason := v.invalidType(f.Type, inCollection, depth+1); reason != "" {
			return reason
		}
	}
	return ""
}
