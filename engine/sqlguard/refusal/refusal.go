package refusal

import (
	"fmt"

	"github.com/lakewarden/lakewarden/engine/sqltree"
)

// Code is the stable name of a refusal. It is sent to the client unchanged.
type Code string

// The codes, with the status each becomes.
const (
	// CodeTooLarge: the text exceeds the size cap: 422 invalid_field, as where the
	// limit of the field is met first.
	CodeTooLarge Code = "statement_too_large"
	// CodeTooComplex: depth, size of a list or number of nodes exceeds a cap: 400.
	CodeTooComplex Code = "too_complex"
	// CodeSyntax: the text does not parse: 400.
	CodeSyntax Code = "syntax_error"
	// CodeStatement: not one statement of the kinds that are served: 400.
	CodeStatement Code = "statement_not_allowed"
	// CodeSyntaxNode: a piece of syntax that is not in the grammar: 400.
	CodeSyntaxNode Code = "syntax_not_allowed"
	// CodeFunction: a known function that users may not call: 400.
	CodeFunction Code = "function_not_allowed"
	// CodeFunctionUnknown: no function of that name: 400.
	CodeFunctionUnknown Code = "function_not_found"
	// CodeArgument: an argument that an allowed function may not have: 400.
	CodeArgument Code = "argument_not_allowed"
	// CodeType: a cast to a type that is not served: 400.
	CodeType Code = "type_not_allowed"
	// CodeTimeTravel: an AT clause that is not a constant version or timestamp: 400.
	CodeTimeTravel Code = "invalid_time_travel"
	// CodePrinter: the checked tree could not be printed without a change of
	// meaning: 400. Nothing ran.
	CodePrinter Code = "statement_not_printable"
)

// Error is a refusal in our own words. It never contains text of the engine.
type Error struct {
	Code Code
	// Line and Column are the place in the user's text, from 1; 0 if unknown.
	// Column counts characters.
	Line, Column int
	// Name is the function, type, table or syntax that was refused.
	Name    string
	Message string
	// Near holds up to three allowed names that look like Name.
	Near []string

	pos int // byte offset + 1 in the text, 0 if unknown
}

// At sets the place to that of n, if it has one.
func (e *Error) At(n *sqltree.Node) *Error {
	if p := sqltree.Offset(n); p >= 0 {
		e.pos = p + 1
	}
	return e
}

// Within sets the place to that of n, unless e has a place already.
func (e *Error) Within(n *sqltree.Node) *Error {
	if e.pos == 0 {
		return e.At(n)
	}
	return e
}

// AtOffset sets the place to a byte offset of the text.
func (e *Error) AtOffset(offset int) *Error {
	e.pos = offset + 1
	return e
}

// Locate sets Line and Column to the place in the text, if e has one.
func (e *Error) Locate(text string) {
	if e.pos > 0 {
		p := PositionIn(text, e.pos-1)
		e.Line, e.Column = p.Line, p.Column
	}
}

// Error returns the code, the place and the message.
func (e *Error) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.Code, e.Message)
	}
	return fmt.Sprintf("%s at %d:%d: %s", e.Code, e.Line, e.Column, e.Message)
}

// New returns an Error without a place.
func New(code Code, name, format string, args ...any) *Error {
	return &Error{Code: code, Name: name, Message: fmt.Sprintf(format, args...)}
}

// Malformed returns the refusal of a tree in an unexpected form. what is for developers.
func Malformed(what string) *Error {
	return New(CodeSyntaxNode, "", "this form of the statement is not allowed (%s)", what)
}
