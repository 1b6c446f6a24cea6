package result

import (
	"fmt"
	"iter"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/lakewarden/lakewarden/engine"
)

// ColumnError is returned for a column whose type, or one of whose values, a format cannot
// represent. The client has to cast the column or choose another format: 422.
type ColumnError struct {
	Format Format
	Column engine.Column
	// Value names the value, if other values of the type can be represented. Otherwise nothing has
	// been written.
	Value string
}

// Error implements error.
func (e *ColumnError) Error() string {
	if e.Value != "" {
		return fmt.Sprintf("column %q has %s, which has no form in %s: cast it to VARCHAR, or leave it out", e.Column.Name, e.Value, e.Format)
	}
	return fmt.Sprintf("column %q of type %s has no form in %s: cast it, or leave it out", e.Column.Name, e.Column.Type, e.Format)
}

// ProblemCode returns the code of package problem.
func (e *ColumnError) ProblemCode() string {
	if e.Value != "" {
		return "value_error"
	}
	return "type_not_supported"
}

// FieldProblems yields the column.
func (e *ColumnError) FieldProblems() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) { yield("sql", e.Error()) }
}

// checkValues returns a [ColumnError] for a value that the Arrow type of its column does not have,
// although its SQL type has it: readers would take it for another one.
func checkValues(rec arrow.RecordBatch, columns []engine.Column, format Format) error {
	for i, column := range rec.Columns() {
		if value := oddValue(column); value != "" {
			return &ColumnError{Format: format, Column: columns[i], Value: value}
		}
	}
	return nil
}

// oddValue names a value that has no form in Arrow, "" if there is none.
func oddValue(column arrow.Array) string {
	switch c := column.(type) {
	case *array.Decimal128:
		if t := c.DataType().(*arrow.Decimal128Type); t.Precision == 38 {
			return oddOf(c, "a number of 39 digits", func(row int) bool { return !c.Value(row).FitsInPrecision(t.Precision) })
		}
	case *array.Date32:
		return oddOf(c, "infinity", func(row int) bool { return infinity(int64(c.Value(row)), math.MaxInt32) != "" })
	case *array.Timestamp:
		return oddOf(c, "infinity", func(row int) bool { return infinity(int64(c.Value(row)), math.MaxInt64) != "" })
	case *array.Time64:
		day := arrow.Time64(dayOf(c.DataType().(*arrow.Time64Type).Unit))
		return oddOf(c, "the time 24:00:00", func(row int) bool { return c.Value(row) >= day })
	case *array.Struct:
		for i := range c.NumField() {
			if value := oddValue(c.Field(i)); value != "" {
				return value
			}
		}
	case *array.SparseUnion:
		for i := range c.NumFields() {
			if value := oddValue(c.Field(i)); value != "" {
				return value
			}
		}
	case array.ListLike: // includes maps
		return oddValue(c.ListValues())
	}
	return ""
}

func oddOf(column arrow.Array, name string, odd func(row int) bool) string {
	for row := range column.Len() {
		if column.IsValid(row) && odd(row) {
			return name
		}
	}
	return ""
}
