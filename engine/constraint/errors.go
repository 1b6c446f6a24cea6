package constraint

import (
	"errors"
	"fmt"

	"github.com/lakewarden/lakewarden/engine/delta"
)

// Sentinels of this package. None is retried.
var (
	// ErrInvalidCheck: see [CheckError]. 422.
	ErrInvalidCheck = errors.New("invalid check expression")
	// ErrInvalidKey: the columns cannot be a key: one is missing, named twice, or
	// of a type that has no equality. 422.
	ErrInvalidKey = errors.New("invalid key")
)

// CheckError says why an expression cannot be a CHECK. It matches
// [ErrInvalidCheck].
type CheckError struct {
	// Position is the byte offset in the expression, or -1.
	Position int
	// Message is this package's own text. It quotes nothing of the expression but names.
	Message string
}

// Error returns the message.
func (e *CheckError) Error() string { return "check expression: " + e.Message }

// Is matches [ErrInvalidCheck].
func (e *CheckError) Is(target error) bool { return target == ErrInvalidCheck }

func invalid(format string, args ...any) *CheckError {
	return &CheckError{Position: -1, Message: fmt.Sprintf(format, args...)}
}

// untranslatable returns the error that refuses writes to a table because of one of its
// constraints.
func untranslatable(what string, err error) error {
	reason := "its expression cannot be evaluated here"
	var check *CheckError
	if errors.As(err, &check) {
		reason = check.Message
	}
	return &delta.FeatureError{Feature: what, Write: true, Reason: reason}
}
