package write

import (
	"errors"
	"iter"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/engine/delta"
)

// SourceError reports that a column cannot be written to, because its shared domain was
// deleted, or because the table from which its domain takes the values cannot be used: 409.
type SourceError struct {
	// Code is a line of the table of errors.
	Code string
	// Column is the column of the domain, or empty if the caller does not see it.
	Column string
	// Reason is a message for the caller.
	Reason string
}

// The codes of source errors.
const (
	codeVanished  = "table_vanished"
	codeIdentity  = "table_identity_changed"
	codeNotShared = "source_not_shared"
	codeDeleted   = "domain_deleted"
)

// Error implements error.
func (e *SourceError) Error() string { return "domain of the column " + e.Column + ": " + e.Reason }

// ProblemCode names the line in the table of errors.
func (e *SourceError) ProblemCode() string { return e.Code }

// FieldProblems yields the column.
func (e *SourceError) FieldProblems() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		if e.Column != "" {
			yield(e.Column, e.Reason)
		}
	}
}

// sourceError returns a [SourceError] for an error that means that a source cannot be used,
// and other errors unchanged.
func sourceError(err error) error {
	switch {
	case errors.Is(err, access.ErrTableVanished), errors.Is(err, delta.ErrTableNotFound):
		return &SourceError{Code: codeVanished, Reason: "the table that has the allowed values has vanished"}
	case errors.Is(err, access.ErrTableIdentity), errors.Is(err, delta.ErrIdentityChanged):
		return &SourceError{Code: codeIdentity, Reason: "another table is in the folder of the one that has the allowed values"}
	case errors.Is(err, access.ErrReferenceNotShared):
		return &SourceError{Code: codeNotShared, Reason: "the table that has the allowed values is not visible to everybody who sees this table"}
	}
	return err
}
