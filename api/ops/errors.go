package ops

import (
	"cmp"
	"fmt"
	"iter"
	"strings"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine/delta"
)

// failure is a sentinel of this package; it names its line in the table of
// errors.
type failure struct{ code, text string }

// Error implements error.
func (f *failure) Error() string { return f.text }

// ProblemCode names the line in the table of errors.
func (f *failure) ProblemCode() string { return f.code }

var (
	// ErrTableVanished: the catalog has the table, its folder has no log any
	// more. Restore the folder or drop the table: 409.
	ErrTableVanished error = &failure{"table_vanished", "table vanished"}
	// ErrTableIdentity: another Delta table lies where a governed one was. A
	// holder of rls_policies:write decides: 409.
	ErrTableIdentity error = &failure{"table_identity_changed", "table identity changed"}
	// ErrTableAmbiguous: two live tables with one id are visible: 409.
	ErrTableAmbiguous error = &failure{"table_id_ambiguous", "table id ambiguous"}
	// ErrVacuumRunning: files of the table are being deleted, so that no former
	// version of it is restored now. Retry after the vacuum: 409.
	ErrVacuumRunning error = &failure{"vacuum_running", "vacuum under way"}
	// ErrStorageKind: the storage is of a kind that does not fit, or that this
	// server cannot read: 422.
	ErrStorageKind error = &failure{"wrong_kind", "storage kind not supported"}
	// ErrNoStoredSecret: a delegated configuration has no credential of its own
	// that could be rotated: 422.
	ErrNoStoredSecret error = &failure{"oauth_config_has_no_secret", "storage configuration holds no secret"}
	// ErrStale: this replica could not confirm the catalog for too long to
	// answer by it: 503, retry.
	ErrStale error = &failure{"unavailable", "catalog not confirmed"}
	// ErrQueryCancelled is returned when the caller lost the right to running work, or
	// when the policies that apply to it changed. Nothing was written. The server does
	// not retry the work: 409.
	ErrQueryCancelled error = &failure{"query_cancelled", "query cancelled"}
)

// StatementError is a statement that cannot run, in our own words.
type StatementError struct {
	// Code is a line of the table of errors.
	Code string
	// Line and Column are the place in the caller's text, from 1; 0 if unknown.
	Line, Column int
	// Field is the field of the request that holds that text; empty is sql.
	Field   string
	Message string
	// Near holds up to three names that the caller can see.
	Near []string
	// Reason is the reason why a table cannot be read; empty for other errors.
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

// FieldProblems yields the place in the statement, and the reason if there is one.
func (e *StatementError) FieldProblems() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		if yield(cmp.Or(e.Field, "sql"), e.Error()) && e.Reason != "" {
			yield("reason", string(e.Reason))
		}
	}
}

// MemberError says which members of a request stand against it: 422. They are told
// as the client spelled them, because names of properties are the client's own.
type MemberError struct {
	// Code is a line of the table of errors.
	Code     string
	Problems catalog.FieldErrors
}

// Error implements error.
func (e *MemberError) Error() string { return "request: " + e.Problems.Error() }

// ProblemCode names the line in the table of errors.
func (e *MemberError) ProblemCode() string { return e.Code }

// FieldProblems yields the members.
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
