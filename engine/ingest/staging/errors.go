package staging

import (
	"errors"
	"fmt"
)

// Sentinels of [Stage] and [Spool]; test with errors.Is. None of them is worth a
// retry with the same body.
var (
	// ErrTruncated: the body ends in the middle; a [CutError] says where. 400.
	ErrTruncated = errors.New("body is cut off")
	// ErrTooLarge: the body, a row, a batch or the staged file is above its limit;
	// a [LimitError] says which. 413.
	ErrTooLarge = errors.New("body is too large")
	// ErrTooDeep: a value is nested deeper than the limit. 400.
	ErrTooDeep = errors.New("body is nested too deep")
	// ErrNoRows: the body has no list of rows at all. 422, field rows.
	ErrNoRows = errors.New("body has no list of rows")
	// ErrUnsupportedType: a table's column has a type that bodies cannot fill. 409.
	ErrUnsupportedType = errors.New("column type cannot be written")
	// ErrDialect: the separators of the CSV dialect cannot be told apart. 422.
	ErrDialect = errors.New("separators of the CSV dialect cannot be told apart")
)

// LimitedRows is the What of a [LimitError] about the number of rows.
const LimitedRows = "rows"

// LimitError is an [ErrTooLarge].
type LimitError struct {
	// What is counted: "body bytes", "rows", "row bytes", "batch bytes",
	// "staged bytes", "member bytes", "members", "column sets".
	What string
	// Limit is what is allowed.
	Limit int64
}

// Error implements error.
func (e *LimitError) Error() string {
	return fmt.Sprintf("%s: more than %d %s", ErrTooLarge, e.Limit, e.What)
}

// Is matches [ErrTooLarge].
func (e *LimitError) Is(target error) bool { return target == ErrTooLarge }

// CutError is an [ErrTruncated].
type CutError struct {
	// Line is the line in which the body ends, from 1; 0 for formats without lines.
	Line int64
	// RowLine is the line in which the row begins that is not whole, 0 when that is
	// not known.
	RowLine int64
	// Offset is how many bytes there are.
	Offset int64
}

// Error implements error. It holds nothing of the body.
func (e *CutError) Error() string {
	switch {
	case e.Offset == 0:
		return "the body is empty"
	case e.Line == 0:
		return fmt.Sprintf("the body is cut off: byte %d", e.Offset)
	case e.RowLine == 0 || e.RowLine == e.Line:
		return fmt.Sprintf("the body is cut off: line %d (byte %d)", e.Line, e.Offset)
	}
	return fmt.Sprintf("the body is cut off: line %d (byte %d), in the row that begins at line %d", e.Line, e.Offset, e.RowLine)
}

// Is matches [ErrTruncated].
func (e *CutError) Is(target error) bool { return target == ErrTruncated }

// SyntaxError is a body that is not what its format says: 400. Its text holds
// nothing of the body.
type SyntaxError struct {
	Format Format
	// Line counts from 1; it is 0 for formats without lines.
	Line int64
	// Offset is the number of bytes before the place, -1 when it is not known.
	Offset int64
	// Text says what is wrong.
	Text string
}

// Error implements error.
func (e *SyntaxError) Error() string {
	switch {
	case e.Line > 0 && e.Offset >= 0:
		return fmt.Sprintf("body is no %s: line %d (byte %d): %s", e.Format, e.Line, e.Offset, e.Text)
	case e.Line > 0:
		return fmt.Sprintf("body is no %s: line %d: %s", e.Format, e.Line, e.Text)
	case e.Offset >= 0:
		return fmt.Sprintf("body is no %s: byte %d: %s", e.Format, e.Offset, e.Text)
	}
	return fmt.Sprintf("body is no %s: %s", e.Format, e.Text)
}
