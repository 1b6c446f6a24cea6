package policy

import (
	"errors"
	"fmt"
)

// The codes of a [FieldError].
const (
	// CodeInvalid is a value that violates a rule.
	CodeInvalid = "invalid"
	// CodeRequired is a missing value.
	CodeRequired = "required"
	// CodeUnknownField is a member that does not exist.
	CodeUnknownField = "unknown_field"
	// CodeUnknownColumn is a column that does not exist in the table.
	CodeUnknownColumn = "unknown_column"
	// CodeTypeNotSupported is an operator that the column's type does not support.
	CodeTypeNotSupported = "type_not_supported"
	// CodeTooLarge is a definition beyond the limits.
	CodeTooLarge = "too_large"
)

var (
	// ErrDefinition is wrapped by every [FieldError]: the client's definition
	// is wrong, 422.
	ErrDefinition = errors.New("policy definition not valid")
	// ErrText is wrapped by every [TextError]: the client's Cedar text is
	// wrong, 422.
	ErrText = errors.New("policy text not valid")
)

// FieldError reports which field of a definition is wrong, and why.
type FieldError struct {
	// Field is the path from the request body: definition.condition.and[1].op.
	Field string
	// Code is one of the Code constants.
	Code string
	// Message is meant for the client.
	Message string
}

// Error returns field and message.
func (e *FieldError) Error() string { return e.Field + ": " + e.Message }

// Unwrap returns [ErrDefinition].
func (e *FieldError) Unwrap() error { return ErrDefinition }

func invalid(field, format string, args ...any) error {
	return &FieldError{Field: field, Code: CodeInvalid, Message: fmt.Sprintf(format, args...)}
}

// TextError says where a policy text is wrong, and why.
type TextError struct {
	// Line and Column start at 1; Column counts characters.
	Line, Column int
	// Message is meant for the client.
	Message string
}

// Error returns position and message.
func (e *TextError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Message)
}

// Unwrap returns [ErrText].
func (e *TextError) Unwrap() error { return ErrText }
