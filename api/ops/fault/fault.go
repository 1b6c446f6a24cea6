package fault

import (
	"cmp"
	"fmt"
	"iter"
	"strings"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine/delta"
)

// coded is an error with its code of package problem.
type coded struct{ code, text string }

// Error implements error.
func (e *coded) Error() string { return e.text }

// ProblemCode names the line in the table of errors.
func (e *coded) ProblemCode() string { return e.code }

// New returns a sentinel with a code of package problem.
func New(code, text string) error { return &coded{code, text} }

// Invalid returns the error of one invalid field of a request.
func Invalid(field, format string, args ...any) error {
	return catalog.FieldErrors{{Field: field, Message: fmt.Sprintf(format, args...)}}
}

// StatementError is returned for a statement that cannot run. Its text is meant for the
// caller.
type StatementError struct {
	// Code is a line of the table of errors.
	Code string
	// Line and Column are the position in the caller's text, from 1; 0 if unknown.
	Line, Column int
	// Field is the field of the request that holds the text; empty means sql.
	Field   string
	Message string
	// Near holds up to three names that the caller can see.
	Near []string
	// Reason is why a table cannot be read; empty for other errors.
	Reason delta.Reason
}

// Error implements error.
func (e *StatementError) Error() string {
	var b strings.Builder
	if e.Line > 0 {
		fmt.Fprintf(&b, "line %d, column %d: ", e.Line, e.Column)
	}
	b.WriteString(e.Message)
	if len(e.Near) > 0 {
		b.WriteString("; near: " + strings.Join(e.Near, ", "))
	}
	return b.String()
}

// ProblemCode names the line in the table of errors.
func (e *StatementError) ProblemCode() string { return e.Code }

// FieldProblems yields the position in the statement, and the reason if there is one.
func (e *StatementError) FieldProblems() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		if yield(cmp.Or(e.Field, "sql"), e.Error()) && e.Reason != "" {
			yield("reason", string(e.Reason))
		}
	}
}

// MemberError lists the invalid members of a request: 422. Names are as the client sent
// them, because the client chooses the names of properties.
type MemberError struct {
	// Code is a line of the table of errors.
	Code     string
	Problems catalog.FieldErrors
}

// Error implements error.
func (e *MemberError) Error() string { return "request: " + e.Problems.Error() }

// ProblemCode names the line in the table of errors.
func (e *MemberError) ProblemCode() string { return e.Code }

// FieldProblems yields the invalid members.
func (e *MemberError) FieldProblems() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for _, p := range e.Problems {
			if !yield(p.Field, p.Message) {
				return
			}
		}
	}
}

// Unwrap returns the fields.
func (e *MemberError) Unwrap() error { return e.Problems }
