package domain

import (
	"fmt"
	"iter"
	"strconv"

	"github.com/lakewarden/lakewarden/api/ops/fault"
)

var (
	// ErrKind is returned for an operation that the kind of the domain does not have: 409.
	ErrKind = fault.New("domain_type_mismatch", "domain is of another kind")
	// ErrShared is returned for a change of values through a column that uses a shared
	// domain: 409. Such values are changed through the shared domain.
	ErrShared = fault.New("domain_shared", "domain is shared")
	// ErrDeleted is returned for a column whose shared domain was deleted while its table
	// was gone: 409.
	ErrDeleted = fault.New("domain_deleted", "domain was deleted")
)

// InUseError reports that rows have a value that is to be deleted, or renamed without
// rewriting them: 409.
type InUseError struct {
	// Rows is the number of rows; nil for callers who do not see all rows.
	Rows *int64
}

// Error implements error.
func (e *InUseError) Error() string { return "value in use" }

// ProblemCode names the line in the table of errors.
func (e *InUseError) ProblemCode() string { return "value_in_use" }

// FieldProblems yields the number of rows.
func (e *InUseError) FieldProblems() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		if e.Rows == nil {
			yield("row_count", "rows have the value")
			return
		}
		yield("row_count", strconv.FormatInt(*e.Rows, 10))
	}
}

// OutsideError reports rows outside a domain that is to be enforced on existing rows: 409.
type OutsideError struct{ Rows int64 }

// Error implements error.
func (e *OutsideError) Error() string { return fmt.Sprintf("%d rows are outside the domain", e.Rows) }

// ProblemCode names the line in the table of errors.
func (e *OutsideError) ProblemCode() string { return "outside_values" }

// FieldProblems yields the number of rows.
func (e *OutsideError) FieldProblems() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) { yield("row_count", strconv.FormatInt(e.Rows, 10)) }
}
