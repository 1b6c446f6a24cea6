package table

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine/delta"
)

// newTableError translates an error of package delta into the fields of the request.
func newTableError(err error) error {
	var properties *delta.PropertyError
	var schema *delta.SchemaError
	switch {
	case errors.As(err, &properties):
		e := &fault.MemberError{Code: "invalid_property"}
		for _, name := range slices.Sorted(maps.Keys(properties.Reasons)) {
			e.Problems = append(e.Problems, catalog.FieldError{Field: "properties." + name, Message: properties.Reasons[name]})
		}
		return e
	case errors.As(err, &schema):
		return &fault.MemberError{Code: "invalid_schema", Problems: catalog.FieldErrors{{Field: newTableField(schema), Message: schema.Reason}}}
	}
	return err
}

func newTableField(e *delta.SchemaError) string {
	list, member := "columns", ".name"
	switch e.Part {
	case delta.ColumnType:
		member = ".type"
	case delta.PartitionColumn:
		list, member = "partition_by", ""
	}
	if e.Index < 0 {
		return list
	}
	return fmt.Sprintf("%s[%d]%s", list, e.Index, member)
}

// ownProperties refuses properties that other operations set.
func ownProperties(properties map[string]string) error {
	e := &fault.MemberError{Code: "invalid_field"}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		folded := strings.ToLower(name)
		if strings.HasPrefix(folded, "delta.constraints.") || strings.HasPrefix(folded, "lakewarden.") {
			e.Problems = append(e.Problems, catalog.FieldError{Field: "properties." + name, Message: "is set by an operation of its own"})
		}
	}
	if e.Problems == nil {
		return nil
	}
	return e
}
